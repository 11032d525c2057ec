/*
 * A script that threads play in turns, a step each, so that everything happens in just one order.
 * This is compiled plainly: the checker sees nothing of it.
 */
#ifndef TURN_H
#define TURN_H

enum turn_kind {
	TURN_END,
	TURN_CALL,
	TURN_RETURN,
	TURN_READ,
	TURN_WRITE,
	TURN_LOCK,
	TURN_UNLOCK,
	TURN_UPDATE
};

struct turn {
	int thread;
	int kind; /* enum turn_kind */
	int at, size;
};

/* Read a script: a line a step, its four numbers. Returns how many threads it has. */
int turn_load(const char *path);
/* Wait for the thread's next step; it is done with the last one. */
struct turn turn_next(int thread);

#endif
