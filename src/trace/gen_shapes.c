#include "trace/gen_impl.h"

#include "base/banned.h"

/* Seven blocks deeper, and back. */
#define DOWN7     "(r(i(w(s(r(o(w"
#define UP7       ")i))r)))s)"
#define THRICE(x) x x x

/* clang-format off */
static const struct gen_script script_locks[] = {
	{5, "deposit", "bank.c", 12, "(arwA)"},
	{3, "balance", "bank.c", 21, "(arA)"},
	{3, "transfer", "bank.c", 33, "(abrwrwBA)"},
	{2, "statement", "bank.c", 47, "(sarirA)"},
	{2, "close_day", "bank.c", 60, "(o(arwA)i)"},
	{1, "log_entry", "log.c", 18, "aioA"},
	{0},
};

static const struct gen_script script_open[] = {
	{5, "deposit", "bank.c", 12, "(farwA)"},
	{3, "balance", "bank.c", 21, "(arA)"},
	{3, "transfer", "bank.c", 33, "(abrwrwBA)"},
	{2, "statement", "bank.c", 47, "(sfarirA)"},
	{2, "close_day", "bank.c", 60, "(o(arwA)f)"},
	{1, "log_entry", "log.c", 18, "faioA"},
	{0},
};

static const struct gen_script script_vars[] = {
	{6, "update_row", "table.c", 40, "(arwrwA)"},
	{4, "scan", "table.c", 58, "(arrrrrrA)"},
	{3, "fill", "table.c", 75, "(avvvvA)"},
	{2, "join_rows", "table.c", 91, "(sabrrwBA)"},
	{1, "tick", "clock.c", 7, "ioio"},
	{0},
};

static const struct gen_script script_sharing[] = {
	{4, "lookup", "cache.c", 31, "(sssarA)"},
	{4, "insert", "cache.c", 49, "(sarwsA)"},
	{2, "evict", "cache.c", 70, "(abrwrwsBA)"},
	{2, "hit", "stats.c", 14, "(saqsA)"},
	{2, "config", "conf.c", 22, "(spsi)"},
	{1, "heartbeat", "stats.c", 40, "sqp"},
	{1, "rehash", "cache.c", 88, "(sabcrvrwsCBA)"},
	{0},
};

static const struct gen_script script_outside[] = {
	{4, "poll", "loop.c", 15, "pipsip"},
	{4, "locked_step", "loop.c", 30, "arwA"},
	{3, "compute", "loop.c", 44, "iioisio"},
	{2, "publish", "loop.c", 61, "oqo"},
	{2, "drain", "queue.c", 19, "arirwiA"},
	{1, "push", "queue.c", 37, "(arwA)"},
	{0},
};

static const struct gen_script script_nested[] = {
	{2, "leaf", "tree.c", 11, "(a(r(w)A))"},
	{6, "visit", "tree.c", 29, "(a" DOWN7 UP7 "A)"},
	{5, "walk", "tree.c", 60, "(a" THRICE(DOWN7) THRICE(UP7) "A)"},
	{3, "rebuild", "tree.c", 140, "(a" THRICE(THRICE(DOWN7)) THRICE(THRICE(UP7)) "A)"},
	{0},
};

static const struct gen_script script_many[] = {
	{6, "touch", "inode.c", 25, "(arwA)"},
	{3, "stat", "inode.c", 38, "(arA)"},
	{4, "link", "inode.c", 52, "(abrwrBA)"},
	{2, "rename", "inode.c", 71, "(abcrwrwCBA)"},
	{1, "sync", "inode.c", 94, "ariA"},
	{0},
};

static const struct gen_script script_many_open[] = {
	{6, "touch", "inode.c", 25, "(arfwA)"},
	{3, "stat", "inode.c", 38, "(arA)"},
	{4, "link", "inode.c", 52, "(fabrwrBA)"},
	{2, "rename", "inode.c", 71, "(abcrwrwCBA)"},
	{1, "sync", "inode.c", 94, "arfA"},
	{0},
};

static const struct gen_script script_long[] = {
	{10, "search_tour", "tsp.c", 40, "([nnnnioninnnnniarwAnnnnionnnoi])"},
	{4, "new_tour", "tsp.c", 80, "([nnarxwAinnibrwBonni])"},
	{2, "report", "tsp.c", 120, "nionionni"},
	{0},
};

static const struct gen_script script_nests[] = {
	{1, "floor", "lift.c", 12, "arwAin"},
	{8, "move", "lift.c", 20, "([abcrwrCBniAarwAo])"},
	{5, "call", "lift.c", 60, "([abrxwBcrCAniabBrcCA])"},
	{2, "stop", "lift.c", 90, "abrBicrwCAn"},
	{0},
};

/* The victim and the intruder of a planted violation. */
const struct gen_script gen_planted[2] = {
	{0, GEN_VICTIM, "counter.c", 10, "(axA!awA.)"},
	{0, GEN_INTRUDER, "counter.c", 30, "(axwA~)"},
};
/* clang-format on */

const struct gen_shape gen_shapes[] = {
	{"locks", "many short transactions on locks", 8, 1024, 64, 16, false, 0, script_locks},
	{"open", "one transaction stays open while short ones pass", 8, 1024, 64, 16, true, 0,
	 script_open},
	{"vars", "a million variables, few threads", 4, 1000000, 256, 16, false, 0, script_vars},
	{"sharing", "64 threads with heavy sharing", 64, 256, 48, 64, false, 0, script_sharing},
	{"outside", "mostly operations outside blocks", 8, 1024, 64, 16, false, 0, script_outside},
	{"nested", "blocks inside blocks, up to 64 deep", 8, 1024, 64, 16, false, 0, script_nested},
	{"many-locks", "twenty thousand locks", 8, 20000, 20000, 16, false, 0, script_many},
	{"many-locks-open", "the same while one transaction stays open", 8, 20000, 20000, 16, true,
	 0, script_many_open},
	{"long-blocks", "a hundred long transactions, two locks; not serializable", 20, 1430, 2, 0,
	 false, 106, script_long},
	{"lock-nests", "fifty locks inside each other; not serializable", 5, 180, 50, 0, false, 273,
	 script_nests},
	{0},
};
