/*
 * elevator: a discrete event simulator of the lifts in a building, after the program of von Praun
 * and Gross. Each lift is a thread. The lifts meet in the controls: each floor has a lock, the
 * people who wait there, and flags by which a lift claims the floor.
 *
 * claim() looks first and then looks again under the lock, as in the original.
 */
#include "paper.h"

enum { FLOORS = 12, QUEUE = 1 << 16, UP = 1, DOWN = -1, NONE = 0 };

struct waiting {
	int to[QUEUE]; /* where they want to go */
	int n;
	int claimed; /* a lift is on its way */
};

struct floor {
	pthread_mutex_t lock;
	struct waiting up, down;
	long arrived; /* people who got out here */
};

struct lift {
	int floor, direction;
	int aboard[FLOORS]; /* how many want to leave at each floor */
	int load;
	long moved;
};

static struct floor floors[FLOORS];
static pthread_mutex_t building = PTHREAD_MUTEX_INITIALIZER; /* protects the next two */
static int people_to_come, people_to_deliver;

static struct waiting *waiting_at(int floor, int direction)
{
	return direction == UP ? &floors[floor].up : &floors[floor].down;
}

/* A person comes to a floor and pushes a button. */
static void push(int from, int to)
{
	struct waiting *w = waiting_at(from, to > from ? UP : DOWN);

	LOCK(&floors[from].lock, push);
	w->to[w->n++] = to;
	UNLOCK(&floors[from].lock, push);
}

static int is_wanted(int floor, int direction)
{
	struct waiting *w = waiting_at(floor, direction);

	LOCK(&floors[floor].lock, is_wanted);
	int wanted = w->n != 0 && !w->claimed;
	UNLOCK(&floors[floor].lock, is_wanted);
	return wanted;
}

/* Claims the people who wait at the floor. Returns 0 if there are none or another lift has them. */
static int claim(int floor, int direction)
{
	struct waiting *w = waiting_at(floor, direction);
	int mine = 0;

	if (is_wanted(floor, direction)) {
		cut_point(1);
		LOCK(&floors[floor].lock, claim);
		if (!w->claimed) {
			w->claimed = 1;
			mine = 1;
		}
		UNLOCK(&floors[floor].lock, claim);
	}
	return mine;
}

/* The people at a floor that the lift has claimed get in, and others can claim it again. */
static void take_people(struct lift *lift, int direction)
{
	struct waiting *w = waiting_at(lift->floor, direction);

	LOCK(&floors[lift->floor].lock, take_people);
	for (int i = 0; i < w->n; i++)
		lift->aboard[w->to[i]]++;
	lift->load += w->n;
	w->n = 0;
	w->claimed = 0;
	UNLOCK(&floors[lift->floor].lock, take_people);
}

static void let_people_out(struct lift *lift)
{
	int n = lift->aboard[lift->floor];

	if (n == 0)
		return;
	lift->aboard[lift->floor] = 0;
	lift->load -= n;
	LOCK(&floors[lift->floor].lock, arrive);
	floors[lift->floor].arrived += n;
	UNLOCK(&floors[lift->floor].lock, arrive);
	LOCK(&building, deliver);
	people_to_deliver -= n;
	UNLOCK(&building, deliver);
}

/* An empty lift looks for people, from its floor upwards and downwards. */
static void look_around(struct lift *lift)
{
	for (int i = 0; i < 2 * FLOORS; i++) {
		int floor = (lift->floor + i / 2) % FLOORS;
		int direction = i % 2 ? DOWN : UP;

		if (claim(floor, direction)) {
			while (lift->floor != floor) {
				lift->floor += floor > lift->floor ? 1 : -1;
				lift->moved++;
			}
			take_people(lift, direction);
			lift->direction = direction;
			return;
		}
	}
	lift->direction = NONE;
}

/* A lift with people goes on by one floor; people who want the same way get in. */
static void move_on(struct lift *lift)
{
	lift->floor += lift->direction;
	lift->moved++;
	let_people_out(lift);
	if (lift->load > 0 && claim(lift->floor, lift->direction))
		take_people(lift, lift->direction);
	if (lift->load == 0)
		lift->direction = NONE;
}

/* Up to n more people come into the building. */
static void bring_people(int n, uint64_t *random)
{
	LOCK(&building, bring_people);
	if (n > people_to_come)
		n = people_to_come;
	people_to_come -= n;
	UNLOCK(&building, bring_people);
	for (int i = 0; i < n; i++) {
		int from = (int)(paper_random(random) % FLOORS);
		int to = (int)(paper_random(random) % (FLOORS - 1));

		push(from, to < from ? to : to + 1);
	}
}

static int is_done(void)
{
	LOCK(&building, is_done);
	int done = people_to_deliver <= 0;
	UNLOCK(&building, is_done);
	return done;
}

static void *run_lift(void *arg)
{
	intptr_t id = (intptr_t)arg;
	uint64_t random = 88172645463325252u + (uint64_t)id * 7919;
	struct lift lift = {.floor = (int)id % FLOORS};

	if (id == 1)
		cut_enter(1); /* the other lift has found the person at floor 3, and claims in a
				 moment */
	else if (id > 1)
		cut_after(1);
	if (paper.is_small && id < 2 && claim(3, UP)) {
		lift.floor = 3;
		take_people(&lift, UP);
		lift.direction = UP;
	}
	if (id == 1)
		cut_leave(1);
	while (!is_done()) {
		if (lift.direction == NONE) {
			bring_people(4, &random);
			look_around(&lift);
		} else {
			move_on(&lift);
		}
	}
	return NULL;
}

int main(int argc, char **argv)
{
	long arrived = 0, waiting = 0;

	paper_start(argc, argv, "elevator", 60, 20000, 6000000, 4);
	people_to_come = paper.size;
	people_to_deliver = paper.size + 1;
	for (int i = 0; i < FLOORS; i++)
		pthread_mutex_init(&floors[i].lock, NULL);
	push(3, 5);
	paper_run_threads(run_lift);
	for (int i = 0; i < FLOORS; i++) {
		arrived += floors[i].arrived;
		waiting += floors[i].up.n + floors[i].down.n;
	}
	paper_verify(waiting == 0 && arrived == paper.size + 1, "not everybody arrived");
	printf("elevator: %ld people went up and down\n", paper.size + 1L);
	paper_print_places();
	return 0;
}
