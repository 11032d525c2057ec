/* A shared library: plain accesses and every sort of atomic operation of every width. */
#include <stdio.h>
#include <string.h>

static int calls;
struct big {
	char bytes[300];
} one, two;

#define OPERATIONS(type)                                                                           \
	static int check_##type(void)                                                              \
	{                                                                                          \
		static type v;                                                                     \
		type e, top = (type)((type)1 << (sizeof(type) * 8 - 1)), big = (type)(top | 5);    \
		int bad = 0;                                                                       \
		__atomic_store_n(&v, big, __ATOMIC_SEQ_CST);                                       \
		bad += __atomic_load_n(&v, __ATOMIC_ACQUIRE) != big;                               \
		bad += __atomic_exchange_n(&v, 7, __ATOMIC_ACQ_REL) != big;                        \
		bad += __atomic_fetch_add(&v, 3, __ATOMIC_RELAXED) != 7;                           \
		bad += __atomic_fetch_sub(&v, 1, __ATOMIC_RELEASE) != 10;                          \
		bad += __atomic_fetch_and(&v, 8, __ATOMIC_SEQ_CST) != 9;                           \
		bad += __atomic_fetch_or(&v, 6, __ATOMIC_SEQ_CST) != 8;                            \
		bad += __atomic_fetch_xor(&v, 15, __ATOMIC_SEQ_CST) != 14;                         \
		bad += __atomic_fetch_nand(&v, 3, __ATOMIC_SEQ_CST) != 1;                          \
		bad += v != (type) ~(type)1;                                                       \
		e = 4;                                                                             \
		bad += __atomic_compare_exchange_n(&v, &e, 9, 0, __ATOMIC_SEQ_CST,                 \
						   __ATOMIC_RELAXED);                              \
		bad += e != (type) ~(type)1;                                                       \
		bad += !__atomic_compare_exchange_n(&v, &e, big, 0, __ATOMIC_SEQ_CST,              \
						    __ATOMIC_ACQUIRE);                             \
		bad += v != big;                                                                   \
		e = big;                                                                           \
		while (!__atomic_compare_exchange_n(&v, &e, 5, 1, __ATOMIC_SEQ_CST,                \
						    __ATOMIC_RELAXED))                             \
			;                                                                          \
		bad += __sync_val_compare_and_swap(&v, 5, 6) != 5 || v != 6;                       \
		bad += __sync_bool_compare_and_swap(&v, 5, 7) || v != 6;                           \
		bad += __atomic_add_fetch(&v, 2, __ATOMIC_SEQ_CST) != 8;                           \
		return bad;                                                                        \
	}
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long u64;
OPERATIONS(u8)
OPERATIONS(u16)
OPERATIONS(u32)
OPERATIONS(u64)
#ifdef __GCC_HAVE_SYNC_COMPARE_AND_SWAP_16
typedef unsigned __int128 u128;
OPERATIONS(u128)
#else
#define check_u128() 0
#endif

/* Returns the number of operations with a wrong result. */
int plugin(void);
int plugin(void)
{
	int bad = 0;

	calls++;
	memset(&one, calls, sizeof one);
	two = one;
	bad += two.bytes[299] != calls;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return bad + check_u8() + check_u16() + check_u32() + check_u64() + check_u128();
}
