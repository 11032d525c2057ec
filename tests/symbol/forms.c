/*
 * Accesses in many forms, for tests/symbol/expressions. A line that starts with "//=" belongs to
 * the function above it, and has an access that the function makes: operation and size, what the
 * source calls the memory, and its type and member. "//~" has operations that are not tested,
 * because the memory is a copy on the stack.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct inner {
	int a, b;
};

struct node {
	struct node *next;
	int x;
	int arr[8];
	struct inner in;
	pthread_mutex_t m;
	pthread_cond_t c;
	_Atomic int at;
	unsigned f1 : 3, f2 : 5;
	union {
		long num;
		char *text;
	};
	long big;
};

typedef struct {
	struct node *slot[4];
	struct node inl[4];
	short n;
	char name[16];
	double grid[3][5];
} table;

int use(int v);
void use_both(int v, int w);
struct node *node_get(int i);
void mutex_take(pthread_mutex_t *m);

int member_read(struct node *p)
{
	return p->x;
}
//= r4 p->x node.x

void member_write(struct node *p, int v)
{
	p->x = v;
}
//= w4 p->x node.x

void member_step(struct node *p)
{
	p->x++;
	--p->in.b;
}
//= r4 p->x node.x
//= w4 p->x node.x
//= r4 p->in.b node.in.b
//= w4 p->in.b node.in.b

void member_add(struct node *p, int v)
{
	p->big += v;
}
//= r8 p->big node.big
//= w8 p->big node.big

int right_side(struct node *p, int x)
{
	x += p->x;
	return x;
}
//= r4 p->x node.x

void pointer(int *p, long *q)
{
	*p = (int)*q;
}
//= w4 *p
//= r8 *q

void pointers(int **pp)
{
	**pp = 7;
}
//= r8 *pp
//= w4 **pp

int element(int *a, int i)
{
	return a[i];
}
//= r4 a[i]

void element_write(short *a, int i)
{
	a[i] = 1;
}
//= w2 a[i]

int element_member(struct node *a, int i)
{
	return a[i].x;
}
//= r4 a[i].x node.x

void element_member_write(struct node *a, int i)
{
	a[i + 1].in.a = 2;
}
//= w4 a[i + 1].in.a node.in.a

void chain_write(struct node *p)
{
	p->next->x = 1;
}
//= r8 p->next node.next
//= w4 p->next->x node.x

long chain_read(struct node *p)
{
	return p->next->next->big;
}
//= r8 p->next node.next
//= r8 p->next->next node.next
//= r8 p->next->next->big node.big

int two(struct node *p, struct node *q)
{
	return p->x + q->in.b;
}
//= r4 p->x node.x
//= r4 q->in.b node.in.b

int bracketed(struct node **pp)
{
	return (*pp)->arr[3];
}
//= r8 *pp
//= r4 (*pp)->arr[3]

void lock(struct node *p)
{
	pthread_mutex_lock(&p->m);
	p->in.a = 5;
	pthread_cond_wait(&p->c, &p->m);
	pthread_mutex_unlock(&p->m);
}
//= l0 p->m
//= w4 p->in.a node.in.a

#define LOCK(rc, p, lock) ((rc) = pthread_mutex_lock(lock))
#define my_m next->m
int lock_by_macro(struct node *p)
{
	int rc;

	LOCK(rc, p, &p->my_m);
	return rc;
}
//= l0 p->my_m

void copy_all(struct inner *p, struct node *q)
{
	memcpy(p, &q->in, sizeof *p);
}
//= r8 q->in node.in
//= w8 *p

void lock_pointer(pthread_mutex_t *mutex)
{
	pthread_mutex_lock(mutex);
}
//= l0 *mutex

void atomic_add(struct node *p)
{
	atomic_fetch_add(&p->at, 1);
}
//= a4 p->at node.at

int atomic_get(struct node *p)
{
	return atomic_load_explicit(&p->at, memory_order_relaxed);
}
//= a4 p->at node.at
//~ r4 w4

void atomic_operators(struct node *p)
{
	p->at++;
	p->at = 4;
}
//= a4 p->at node.at
//~ r4 w4

long builtin(struct node *p)
{
	return __atomic_load_n(&p->big, __ATOMIC_SEQ_CST);
}
//= a8 p->big node.big

void sides(table *t, int i)
{
	t->slot[i]->in.b = t->inl[i].x;
}
//= r8 t->slot[i]
//= r4 t->inl[i].x
//= w4 t->slot[i]->in.b node.in.b

void arguments(struct node *p)
{
	use(p->x);
	use(p->arr[p->in.a]);
}
//= r4 p->x node.x
//= r4 p->in.a node.in.a
//= r4 p->arr[p->in.a]

/* gcc marks both at the name of the function: then neither has a name. */
void two_arguments(struct node *p, struct node *q)
{
	use_both(p->x, q->x);
}
//= r4 p->x node.x
//= r4 q->x node.x

int conditions(struct node *p)
{
	if (p->x > 3 && p->in.a)
		return 1;
	return p->next ? 1 : 0;
}
//= r4 p->x node.x
//= r4 p->in.a node.in.a
//= r8 p->next node.next

void bit_fields(struct node *p)
{
	p->f1 = 3;
	p->f2++;
}
//= r1 p->f1 node.f1
//= w1 p->f1 node.f1
//= r1 p->f2 node.f2
//= w1 p->f2 node.f2

void copy(struct node *p, struct node *q)
{
	p->in = q->in;
}
//= r8 q->in node.in
//= w8 p->in node.in

void cast(void *v)
{
	((struct node *)v)->x = 1;
	((table *)v)->n = 2;
}
//= w4 ((struct node *)v)->x node.x
//= w2 ((table *)v)->n table.n

void split_lines(struct node *p, int v)
{
	p->in.a /* the first
		   of two */
		= v;
	p->x = p->arr[2] = v;
}
//= w4 p->in.a node.in.a
//= w4 p->x node.x
//= w4 p->arr[2]
//= r4 p->arr[2]

void swap(struct node *p)
{
	int t = p->in.a;

	p->in.a = p->in.b;
	p->in.b = t;
}
//= r4 p->in.a node.in.a
//= r4 p->in.b node.in.b
//= w4 p->in.a node.in.a
//= w4 p->in.b node.in.b

#define FLAGS(p) ((p)->x)
#define IS_SET(p, flag) ((FLAGS(p) & (flag)) != 0)
int macro(struct node *txn)
{
	return IS_SET(txn, 2);
}
//= r4 txn->x node.x

#define in_b in.b /* a comment */
#define first_in (txn->in.a)
int macro_names(struct node *txn)
{
	txn->in_b = 4;
	return first_in;
}
//= w4 txn->in_b node.in_b
//= r4 first_in node.in.a

void arithmetic(int *p)
{
	*p++ = 1;
	*(p + 2) = 3;
}
//= w4 *p
//= w4 *(p + 2)

int called(int i)
{
	return node_get(i)->x;
}
//= r4 node_get(i)->x node.x

void anonymous(struct node *p)
{
	p->num = 3;
	*p->text = 0;
}
//= w8 p->num node.num
//= r8 p->text node.text
//= w1 *p->text

int shadowed(struct node *p, int n)
{
	for (struct node *q = p; q; q = q->next) {
		struct inner *p = &q->in;

		n += p->b;
	}
	return n + p->x;
}
//= r4 p->x node.x
//= r8 q->next node.next
//= r4 p->b inner.b

double grid(table *t, int i, int k)
{
	t->name[i] = 'x';
	return t->grid[i][k];
}
//= w1 t->name[i]
//= r8 t->grid[i][k]

static int small(struct node *n)
{
	return n->x + 1;
}
int inlined(struct node *outer)
{
	return small(outer) * 2;
}
//= r4 n->x node.x

int returned(struct node *p)
{
	int v = p->x;
	int w;

	w = p->in.a;
	return v * w;
}
//= r4 p->x node.x
//= r4 p->in.a node.in.a

struct node *make(void)
{
	struct node *made = malloc(sizeof *made);

	return made;
}
static void *allocate(size_t n)
{
	void *p = malloc(n);

	return p;
}
table *make_table(void)
{
	table *made = allocate(sizeof(table) * 2);

	return made;
}
