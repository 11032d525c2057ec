/*
 * The socket to the reporter: its bytes. It works in a program that has given up its rights:
 *
 *  - Only read() and write() are used, which sandboxes allow.
 *  - A program that closes all its descriptors closes this one, too: socket_check() notices.
 *  - A reporter that is stopped is given up after one to two seconds. One that is busy is not.
 *
 * Included by: link/.
 */
#ifndef ATOMSAN_RUNTIME_LINK_SOCKET_H
#define ATOMSAN_RUNTIME_LINK_SOCKET_H

#include "runtime/os/os.h"

enum socket_state {
	SOCKET_NONE, /* none was made */
	SOCKET_OPEN,
	SOCKET_CLOSED,  /* the program closed it, or closed the parent's in a child */
	SOCKET_DEAD,    /* the reporter has ended */
	SOCKET_STOPPED, /* the reporter is stopped */
};
enum socket_state socket_state(void);
static inline bool socket_is_open(void)
{
	return socket_state() == SOCKET_OPEN;
}

/* Use this descriptor; `reporter`: the process at the other end, or 0 if it is not known. */
void socket_use(int descriptor, int reporter);
/*
 * Connect to a socket by name; "@" stands for the first byte of an abstract one. False, and errno,
 * if that fails.
 */
bool socket_connect(const char *name, size_t n);
/* Notice whether the program has closed the descriptor. */
void socket_check(void);
void socket_close(enum socket_state why);

/* Write or read all of it. If that fails, the socket is closed. */
bool socket_write(const void *bytes, size_t n);
bool socket_read(void *bytes, size_t n);
/* Write bytes with a descriptor, all or nothing. */
bool socket_write_descriptor(const void *bytes, size_t n, int descriptor);
/* Try to write a last message to a reporter that is stopped, which it may read later. */
void socket_write_last(const void *bytes, size_t n);

#endif
