/*
 * jbb: warehouses with districts, customers, stock and orders, after SPEC JBB2000. Each thread is a
 * terminal: usually of its own warehouse, sometimes of another. It runs the benchmark's five
 * transactions. Each object has a lock, and a transaction locks one object after the other.
 *
 * So the transactions are not atomic, as in the original: see the table of regions.
 */
#include "paper.h"

enum { WAREHOUSES = 4, DISTRICTS = 5, CUSTOMERS = 30, ITEMS = 200, LINES = 5, ORDERS = 64 };

struct order {
	int customer, lines, delivered;
	int item[LINES];
	long total;
};

struct district {
	pthread_mutex_t lock;
	long next_order, next_delivery; /* numbers; the order is at number % ORDERS */
	long year_to_date;
	struct order order[ORDERS];
};

struct customer {
	pthread_mutex_t lock;
	long balance, payments, deliveries;
};

struct stock {
	pthread_mutex_t lock;
	int quantity;
	long sold;
};

struct warehouse {
	pthread_mutex_t lock;
	long year_to_date;
	struct district district[DISTRICTS];
	struct customer customer[CUSTOMERS];
	struct stock stock[ITEMS];
};

static struct warehouse warehouses[WAREHOUSES];
static int prices[ITEMS];

static struct {
	pthread_mutex_t lock;
	long transactions[5];
	long paid;
	int history_size;
	long history[128]; /* the last payments */
} company = {PTHREAD_MUTEX_INITIALIZER, {0}, 0, 0, {0}};

static void note_transaction(int kind)
{
	LOCK(&company.lock, note_transaction);
	company.transactions[kind]++;
	UNLOCK(&company.lock, note_transaction);
}

/* Takes n pieces of the item out of the stock, which is filled up if it gets low. */
static long take_item(struct warehouse *w, int item, int n)
{
	struct stock *s = &w->stock[item];

	LOCK(&s->lock, take_item);
	s->quantity -= n;
	if (s->quantity < 10)
		s->quantity += 91;
	s->sold += n;
	UNLOCK(&s->lock, take_item);
	return (long)prices[item] * n;
}

/* Returns 0 if too many orders wait for delivery. */
static int add_order(struct district *d, const struct order *order)
{
	int added = 0;

	LOCK(&d->lock, add_order);
	if (d->next_order - d->next_delivery < ORDERS) {
		d->order[d->next_order++ % ORDERS] = *order;
		added = 1;
	}
	UNLOCK(&d->lock, add_order);
	return added;
}

static void change_balance(struct customer *c, long amount, int delivered)
{
	LOCK(&c->lock, change_balance);
	c->balance += amount;
	c->deliveries += delivered;
	UNLOCK(&c->lock, change_balance);
}

static void new_order(struct warehouse *w, uint64_t *random)
{
	struct order order = {.customer = (int)(paper_random(random) % CUSTOMERS), .lines = LINES};

	for (int i = 0; i < LINES; i++) {
		order.item[i] = (int)(paper_random(random) % ITEMS);
		order.total += take_item(w, order.item[i], 1 + i);
	}
	add_order(&w->district[paper_random(random) % DISTRICTS], &order);
	note_transaction(0);
}

static void add_warehouse_payment(struct warehouse *w, long amount)
{
	LOCK(&w->lock, add_warehouse_payment);
	w->year_to_date += amount;
	UNLOCK(&w->lock, add_warehouse_payment);
}

static void add_district_payment(struct district *d, long amount)
{
	LOCK(&d->lock, add_district_payment);
	d->year_to_date += amount;
	UNLOCK(&d->lock, add_district_payment);
}

static void add_history(long amount)
{
	LOCK(&company.lock, add_history);
	company.paid += amount;
	company.history[company.history_size++ % 128] = amount;
	UNLOCK(&company.lock, add_history);
}

static void pay(struct warehouse *w, struct district *d, struct customer *c, long amount)
{
	add_warehouse_payment(w, amount);
	cut_point(1);
	add_district_payment(d, amount);
	LOCK(&c->lock, pay);
	c->balance -= amount;
	c->payments++;
	UNLOCK(&c->lock, pay);
	add_history(amount);
}

static void payment(struct warehouse *w, uint64_t *random)
{
	struct district *d = &w->district[paper_random(random) % DISTRICTS];
	struct customer *c = &w->customer[paper_random(random) % CUSTOMERS];

	pay(w, d, c, (long)(1 + paper_random(random) % 5000));
	note_transaction(1);
}

static long read_balance(struct customer *c)
{
	LOCK(&c->lock, read_balance);
	long balance = c->balance;
	UNLOCK(&c->lock, read_balance);
	return balance;
}

/* The balance of a customer and the last order, which need not fit together. */
static long order_status(struct warehouse *w, uint64_t *random)
{
	int customer = (int)(paper_random(random) % CUSTOMERS);
	struct district *d = &w->district[paper_random(random) % DISTRICTS];
	long status = read_balance(&w->customer[customer]);

	LOCK(&d->lock, order_status);
	for (long n = d->next_order - 1; n >= d->next_delivery; n--)
		if (d->order[n % ORDERS].customer == customer) {
			status += d->order[n % ORDERS].total;
			break;
		}
	UNLOCK(&d->lock, order_status);
	note_transaction(2);
	return status;
}

/* Takes the oldest order out of the district. Returns 0 if there is none. */
static int take_order(struct district *d, struct order *order)
{
	int got = 0;

	LOCK(&d->lock, take_order);
	if (d->next_delivery < d->next_order) {
		*order = d->order[d->next_delivery++ % ORDERS];
		got = 1;
	}
	UNLOCK(&d->lock, take_order);
	return got;
}

static void delivery(struct warehouse *w)
{
	for (int i = 0; i < DISTRICTS; i++) {
		struct order order;

		if (take_order(&w->district[i], &order))
			change_balance(&w->customer[order.customer], order.total, 1);
	}
	note_transaction(3);
}

static int read_quantity(struct stock *s)
{
	LOCK(&s->lock, read_quantity);
	int quantity = s->quantity;
	UNLOCK(&s->lock, read_quantity);
	return quantity;
}

/* How many items of the last orders are low. */
static int stock_level(struct warehouse *w, uint64_t *random)
{
	struct district *d = &w->district[paper_random(random) % DISTRICTS];
	int item[8 * LINES], n = 0, low = 0;

	LOCK(&d->lock, stock_level);
	for (long o = d->next_order - 1; o >= d->next_delivery && o >= d->next_order - 8; o--)
		for (int i = 0; i < LINES; i++)
			item[n++] = d->order[o % ORDERS].item[i];
	UNLOCK(&d->lock, stock_level);
	for (int i = 0; i < n; i++)
		low += read_quantity(&w->stock[item[i]]) < 20;
	note_transaction(4);
	return low;
}

static long run_transaction(struct warehouse *w, uint64_t *random)
{
	unsigned kind = (unsigned)(paper_random(random) % 23);

	if (kind < 10)
		new_order(w, random);
	else if (kind < 20)
		payment(w, random);
	else if (kind == 20)
		return order_status(w, random);
	else if (kind == 21)
		delivery(w);
	else
		return stock_level(w, random);
	return 0;
}

static void *run_terminal(void *arg)
{
	int id = (int)(intptr_t)arg;
	uint64_t random = 161803398 + (uint64_t)id * 40503;
	struct warehouse *own = &warehouses[id % WAREHOUSES], *w0 = &warehouses[0];
	long sum = 0;

	if (id == 1) {
		cut_enter(1);
		pay(w0, &w0->district[1], &w0->customer[2], 100);
		cut_leave(1);
	} else if (id > 1) {
		cut_after(1);
	}
	if (id == 0)
		pay(w0, &w0->district[1], &w0->customer[3], 100);
	for (int i = 0; i < paper.size; i++) {
		int other = paper_random(&random) % 10 == 0;

		sum += run_transaction(
			other ? &warehouses[paper_random(&random) % WAREHOUSES] : own, &random);
	}
	return (void *)(intptr_t)(sum == 1);
}

int main(int argc, char **argv)
{
	long transactions = 0, warehouse_paid = 0, district_paid = 0, customer_paid = 0;

	paper_start(argc, argv, "jbb", 12, 6000, 1000000, 4);
	for (int i = 0; i < ITEMS; i++)
		prices[i] = 100 + i * 37 % 991;
	for (int i = 0; i < WAREHOUSES; i++) {
		struct warehouse *w = &warehouses[i];

		pthread_mutex_init(&w->lock, NULL);
		for (int j = 0; j < DISTRICTS; j++)
			pthread_mutex_init(&w->district[j].lock, NULL);
		for (int j = 0; j < CUSTOMERS; j++)
			pthread_mutex_init(&w->customer[j].lock, NULL);
		for (int j = 0; j < ITEMS; j++) {
			pthread_mutex_init(&w->stock[j].lock, NULL);
			w->stock[j].quantity = 50 + j % 40;
		}
	}
	paper_run_threads(run_terminal);
	for (int i = 0; i < 5; i++)
		transactions += company.transactions[i];
	for (int i = 0; i < WAREHOUSES; i++) {
		warehouse_paid += warehouses[i].year_to_date;
		for (int j = 0; j < DISTRICTS; j++)
			district_paid += warehouses[i].district[j].year_to_date;
		for (int j = 0; j < CUSTOMERS; j++)
			customer_paid += warehouses[i].customer[j].payments;
	}
	paper_verify(transactions == (long)paper.size * paper.threads, "a transaction is missing");
	paper_verify(company.paid == warehouse_paid && company.paid == district_paid,
		     "the sums of payments differ");
	paper_verify(customer_paid == company.history_size, "a payment is not in the history");
	printf("jbb: %ld transactions, %ld paid\n", transactions, company.paid);
	paper_print_places();
	return 0;
}
