#include "runtime/record/record.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/history/unit.h"
#include "runtime/os/clock.h"
#include "runtime/os/options.h"
#include "runtime/record/file.h"
#include "runtime/record/predict.h"
#include "runtime/thread/mode.h"
#include "runtime/thread/state.h"
#include "runtime/tool.h"
#include "trace/event.h"

#include "base/banned.h"

/*
 * Bytes of a thread's first chunk. It is small, since many threads do not live long; each of the
 * next two chunks is four times as large as the one before. The last one stays mapped, since new
 * pages of a mapped file are expensive: when it is full, a copy is appended to the file.
 */
enum { CHUNK_FIRST = 1 << 12, CHUNKS_MAPPED = 3 };
_Static_assert(CHUNK_FIRST << 2 * (CHUNKS_MAPPED - 1) <= (int)RAW_CHUNK_MAX,
	       "readers accept the largest chunk");

/*
 * Stop, and print why, once: the program goes on unrecorded. `error` is 0 if predict_size is used
 * up.
 */
static void stop_recording(const char *doing, int error)
{
	if (!__atomic_exchange_n(&rt_recording, false, __ATOMIC_RELAXED))
		return;
	mode_choose();
	if (error) {
		rt_say("recording stopped: %s %s: %s", doing, record_file_name(),
		       strerrordesc_np(error));
		rt_format(record_header->why, sizeof record_header->why, "%s: %s", doing,
			  strerrordesc_np(error));
	} else {
		rt_say("prediction covers the run up to here: the %d MiB of predict_size are used "
		       "up; the program goes on",
		       rt_options.predict_size);
		rt_format(record_header->why, sizeof record_header->why, "predict_size is used up");
	}
	rt_note_incomplete("%s", record_header->why);
	record_header->closed = 2;
}

/* Begin to record. False: that is not possible, and a message has said why. */
static bool begin_recording(bool temporary)
{
	if (!record_file_open(temporary)) {
		if (rt_options.predict)
			predict_send_failure();
		return false;
	}
	rt_recording = rt_timed = true;
	return true;
}

static uint64_t record_finish(void)
{
	if (!record_header || record_header->pid != (uint32_t)getpid())
		return 0;
	if (rt_recording)
		record_header->closed = 1;
	if (!rt_options.predict)
		return 0;
	/* The reporter is about to read the file. A unit that another thread still adds is ignored.
	 */
	rt_recording = false;
	mode_choose();
	return predict_finish();
}

/* A forked child begins a recording of its own, or records nothing. */
static bool record_fork_child(struct rt_thread *t)
{
	bool was_on = rt_recording, has_name = *rt_options.record && rt_options.record_children;

	/* The mappings are the parent's. */
	rt_recording = false;
	if (t->rec.chunk)
		munmap(t->rec.chunk, t->rec.chunk_bytes);
	t->rec.chunk = NULL;
	t->rec.log.next = t->rec.log.end = NULL;
	t->rec.nchunks = 0;
	t->rec.log.base = 0;
	record_file_child(has_name);
	if (rt_options.predict)
		predict_child();
	if (was_on && (has_name || rt_options.predict))
		begin_recording(!has_name);
	return false;
}

static void record_thread_gone(struct rt_thread *t)
{
	if (t->rec.chunk)
		munmap(t->rec.chunk, t->rec.chunk_bytes);
	t->rec.chunk = NULL;
	t->rec.log.next = t->rec.log.end = NULL;
}

/* Map the thread's next chunk. False: that is not possible, and recording has stopped. */
static bool map_chunk(struct rt_thread *t)
{
	size_t bytes = CHUNK_FIRST << 2 * t->rec.nchunks;
	struct record_failure why;

	record_thread_gone(t);
	t->rec.chunk = record_file_grow(bytes, &why);
	if (!t->rec.chunk) {
		stop_recording(why.doing, why.error);
		return false;
	}
	t->rec.chunk_bytes = bytes;
	if (!t->rec.nchunks)
		__atomic_fetch_add(&record_header->threads, 1, __ATOMIC_RELAXED);
	return true;
}

/*
 * Append a copy of the thread's chunk to the file, and empty the chunk. If the thread is killed
 * meanwhile, the file has the chunk twice at most: a reader takes the copy, and then the chunk as
 * far as it has been changed. False: recording has stopped.
 */
static bool append_chunk(struct rt_thread *t)
{
	struct raw_chunk *c = t->rec.chunk;
	struct record_failure why;
	uint64_t *unit = (uint64_t *)(c + 1);

	if (!record_file_append(c, t->rec.chunk_bytes, &why)) {
		stop_recording(why.doing, why.error);
		return false;
	}
	/* Without its first unit it is empty, whatever follows. */
	unit[0] = 0;
	RT_COMPILER_BARRIER();
	c->number = t->rec.nchunks;
	RT_COMPILER_BARRIER();
	__builtin_memset(unit, 0, t->rec.chunk_bytes - sizeof *c);
	return true;
}

/* Give the thread a new chunk. False: the recorder is not at work, or has just stopped. */
static bool begin_chunk(struct rt_thread *t, uint64_t time, uintptr_t pc)
{
	struct raw_chunk *c;

	t->rec.log.next = t->rec.log.end = NULL;
	if (!rt_recording || !(t->rec.nchunks < CHUNKS_MAPPED ? map_chunk(t) : append_chunk(t))) {
		record_thread_gone(t);
		return false;
	}
	c = t->rec.chunk;
	t->rec.log.base = time;
	t->rec.log.pc_high = pc & ~0xffffffffull;
	c->thread = t->id;
	c->number = t->rec.nchunks++;
	c->bytes = (uint32_t)t->rec.chunk_bytes;
	c->base = t->rec.log.base;
	c->pc_high = t->rec.log.pc_high;
	RT_COMPILER_BARRIER();
	c->magic = RAW_CHUNK_MAGIC;
	t->rec.log.next = (uint64_t *)(c + 1);
	t->rec.log.end = (uint64_t *)((char *)c + t->rec.chunk_bytes);
	return true;
}

static void put_unit(struct rt_thread *t, uint64_t what, uint64_t when)
{
	uint64_t *to = t->rec.log.next;

	to[1] = when;
	/* The operation comes last: a unit without one does not exist for a reader. */
	RT_COMPILER_BARRIER();
	to[0] = what;
	t->rec.log.next = to + 2;
}

static inline uint64_t unit_when(const struct rt_thread *t, uint64_t time, uintptr_t pc)
{
	return (uint32_t)(time - t->rec.log.base) | (uint64_t)pc << 32;
}

/*
 * Make room for `units` units, and put units that change the base or the high half of the pc if
 * they need to change. A time before the base becomes the base. False: the recorder has stopped.
 */
static bool make_room(struct rt_thread *t, uint32_t units, uint64_t *time, uintptr_t pc)
{
	int saved = errno;

	if (!rt_recording)
		return false;
	if (t->rec.log.end - t->rec.log.next < (ptrdiff_t)(2 * (units + 2)) &&
	    !begin_chunk(t, *time, pc)) {
		if (!rt_checking)
			t->gate.quiet |= RT_GONE;
		errno = saved;
		return false;
	}
	/*
	 * A time is before the base if the clocks of two processors disagree, or if it was taken
	 * before an operation that needed a new chunk, such as a fork.
	 */
	if ((int64_t)(*time - t->rec.log.base) < 0) {
		*time = t->rec.log.base;
	} else if ((*time - t->rec.log.base) >> 32) {
		t->rec.log.base = *time;
		put_unit(t, unit_what(RAW_TIME, 0, 0), t->rec.log.base);
	}
	if ((pc ^ t->rec.log.pc_high) >> 32) {
		t->rec.log.pc_high = pc & ~0xffffffffull;
		put_unit(t, unit_what(RAW_PC_HIGH, pc >> 32, 0), unit_when(t, *time, 0));
	}
	errno = saved;
	return true;
}

/* Write one unit. */
static inline __attribute__((always_inline)) void record_at(struct rt_thread *t, enum raw_op op,
							    uint64_t address, uint32_t aux,
							    uint64_t time, uintptr_t pc)
{
	struct rt_log *l = &t->rec.log;

	if (!rt_recording)
		return;
	if (RT_UNLIKELY(l->next == l->end || (time - l->base) >> 32 || (pc ^ l->pc_high) >> 32) &&
	    !make_room(t, 1, &time, pc))
		return;
	put_unit(t, unit_what(op, address, aux), unit_when(t, time, pc));
}

/* Write one unit with the present time. */
static void record_now(struct rt_thread *t, enum raw_op op, uint64_t address, uint32_t aux,
		       uintptr_t pc)
{
	record_at(t, op, address, aux, machine_clock(), pc);
}

/* Write a unit and its size. */
static void record_sized(struct rt_thread *t, enum raw_op op, uint64_t address, uint64_t size,
			 uint64_t time, uintptr_t pc)
{
	if (!make_room(t, 2, &time, pc))
		return;
	/* The size first: without its operation the first unit does not exist for a reader. */
	t->rec.log.next[2] = size;
	t->rec.log.next[3] = 0;
	put_unit(t, unit_what(op, address, 0), unit_when(t, time, pc));
	t->rec.log.next += 2;
}

/* Write a unit and its text, which is cut if it is long. */
static void record_text(struct rt_thread *t, enum raw_op op, uint64_t address, const char *text,
			size_t n)
{
	uint64_t time = machine_clock();
	uint32_t units;
	char *to;

	if (n > 200 * sizeof(struct raw_unit))
		n = 200 * sizeof(struct raw_unit);
	units = (uint32_t)((n + 15) / 16);
	if (!make_room(t, 1 + units, &time, t->rec.log.pc_high))
		return;
	to = (char *)(t->rec.log.next + 2);
	for (size_t i = 0; i < n; i++)
		to[i] = text[i];
	put_unit(t, unit_what(op, address, units), unit_when(t, time, 0));
	t->rec.log.next += 2 * (size_t)units;
}

/* --- events --- */

static enum rt_mode record_wants(void)
{
	return rt_recording ? RT_ALL : RT_NOTHING;
}

/* Another thread begins, or is about to: without a reporter the recording is of no use. */
static void send_for_prediction(void)
{
	if (!rt_options.predict || !rt_recording || predict_send_file())
		return;
	rt_recording = false;
	mode_choose();
}

static void record_thread_begin(struct rt_thread *t, struct rt_point birth)
{
	(void)birth;
	/* The creation of a thread may not have been seen. */
	if (t->id)
		send_for_prediction();
	record_sized(t, RAW_START, t->stack.low, t->stack.high - t->stack.low, machine_clock(),
		     t->rec.log.pc_high);
}

static struct rt_point record_thread_end(struct rt_thread *t)
{
	record_now(t, RAW_EXIT, 0, 0, t->rec.log.pc_high);
	return (struct rt_point){0};
}

static struct rt_point record_create(struct rt_thread *t, uint32_t id, uint64_t time, uintptr_t pc)
{
	send_for_prediction();
	record_at(t, RAW_FORK, id, 0, time, pc);
	return (struct rt_point){0};
}

static void record_join(struct rt_thread *t, uint32_t id, struct rt_point last, uint64_t *time,
			uintptr_t pc)
{
	(void)last;
	record_at(t, RAW_JOIN, id, 0, *time, pc);
}

static void record_name(struct rt_thread *t, const char *text, size_t n)
{
	record_text(t, RAW_NAME, 0, text, n);
}

/*
 * A task begins after it was made, and a thread that waits for it goes on after its end: written as
 * conditions, because prediction keeps the order of waits and notifies.
 */
static void record_task(struct rt_thread *t, const struct rt_frame *f, enum raw_op op,
			enum rt_team which)
{
	if (f->body == RT_BODY_TASK && t->openmp.team)
		record_at(t, op, t->openmp.team + which, RAW_CONDITION, machine_clock_ordered(),
			  f->caller);
}

static void record_call(struct rt_thread *t, struct rt_frame *f)
{
	if (RT_UNLIKELY(f->body))
		record_task(t, f, RAW_WAIT, TEAM_MADE);
	record_now(t, RAW_CALL, f->function, f->kind, f->caller);
}

static void record_ret(struct rt_thread *t, struct rt_frame *f)
{
	record_now(t, RAW_RETURN, 0, 0, t->rec.log.pc_high);
	if (RT_UNLIKELY(f->body))
		record_task(t, f, RAW_NOTIFY, TEAM_DONE);
}

static void record_mark(struct rt_thread *t, uint32_t number, uintptr_t pc)
{
	record_now(t, RAW_BEGIN, number, 0, pc);
}

static void record_unmark(struct rt_thread *t, uintptr_t pc)
{
	record_now(t, RAW_END, 0, 0, pc);
}

static void record_not_atomic(struct rt_thread *t, bool applies, uintptr_t pc)
{
	(void)applies;
	record_now(t, RAW_NOT_ATOMIC, 0, 0, pc);
}

static void record_label(struct rt_thread *t, uint32_t number, const char *text, size_t n)
{
	record_text(t, RAW_LABEL, number, text, n);
}

/* Returns the operation with a value for one without, of 1, 2, 4 or 8 bytes. */
static enum raw_op op_with_value(enum raw_op first, uint32_t size)
{
	return first + (enum raw_op)__builtin_ctz(size);
}

static bool has_value_op(size_t size)
{
	return size && size <= 8 && !(size & (size - 1));
}

/* Returns the value of memory that is about to be read; size 1, 2, 4 or 8. */
static uint8_t read_value(uintptr_t address, uint32_t size)
{
	typedef uint16_t half __attribute__((aligned(1), may_alias));
	typedef uint32_t word __attribute__((aligned(1), may_alias));
	typedef uint64_t wide __attribute__((aligned(1), may_alias));

	switch (size) {
	case 1:
		return event_value(*(const uint8_t *)address, 1);
	case 2:
		return event_value(*(const half *)address, 2);
	case 4:
		return event_value(*(const word *)address, 4);
	default:
		return event_value(*(const wide *)address, 8);
	}
}

/*
 * Write a plain read, then its value. If the memory cannot be read, the unit is there before the
 * fault: it may be what the recording is read for.
 */
static void record_read(struct rt_thread *t, uintptr_t address, uint32_t size, uint64_t time,
			uintptr_t pc)
{
	uint64_t *before = t->rec.log.next, *unit;
	uint8_t value;

	record_at(t, RAW_READ, address, size, time, pc);
	unit = t->rec.log.next;
	if (!unit || unit == before)
		return;
	RT_COMPILER_BARRIER();
	value = read_value(address, size);
	/* After a fault, a signal handler may have added units. */
	if (value != VALUE_UNKNOWN && t->rec.log.next == unit)
		unit[-2] = unit_what(op_with_value(RAW_READ1, size), address, value);
}

static void record_accessed(struct rt_thread *t, enum raw_op op, uintptr_t address, size_t size,
			    uint64_t time, uintptr_t pc)
{
	if (op == RAW_READ_RANGE || op == RAW_WRITE_RANGE)
		record_sized(t, op, address, size, time, pc);
	else if (op == RAW_READ && has_value_op(size))
		record_read(t, address, (uint32_t)size, time, pc);
	else
		record_at(t, op, address, (uint32_t)size, time, pc);
}

static void record_atomic_done(struct rt_thread *t, enum raw_op op, uintptr_t address,
			       uint32_t size, uint8_t value, uint64_t time, uintptr_t pc)
{
	enum raw_op first = op == RAW_READ ? RAW_READ1 : op == RAW_WRITE ? RAW_WRITE1 : RAW_UPDATE1;

	if (value == VALUE_UNKNOWN || !has_value_op(size))
		record_at(t, op, address, size, time, pc);
	else
		record_at(t, op_with_value(first, size), address, value, time, pc);
}

static void record_alloc(struct rt_thread *t, uintptr_t address, size_t size, uintptr_t pc)
{
	record_sized(t, RAW_ALLOC, address, size, machine_clock_ordered(), pc);
}

static void record_free(struct rt_thread *t, uintptr_t address, size_t size, uintptr_t pc)
{
	(void)size;
	record_at(t, RAW_FREE, address, 0, machine_clock_ordered(), pc);
}

static void record_forget(struct rt_thread *t, uintptr_t address, size_t size, uintptr_t pc)
{
	record_sized(t, RAW_FORGET, address, size, machine_clock_ordered(),
		     pc ? pc : t->rec.log.pc_high);
}

static void record_sync(struct rt_thread *t, enum raw_op op, uintptr_t object, uint32_t aux,
			uint64_t *time, uintptr_t pc)
{
	record_at(t, op, object, aux, *time, pc);
}

static void record_module(struct rt_thread *t, uint64_t bias, const char *text, size_t n)
{
	record_text(t, RAW_MODULE, bias, text, n);
}

void record_init(char **environment)
{
	static struct rt_tool recorder = {
		.wants = record_wants,
		.thread_begin = record_thread_begin,
		.thread_end = record_thread_end,
		.thread_gone = record_thread_gone,
		.create = record_create,
		.join = record_join,
		.name = record_name,
		.call = record_call,
		.ret = record_ret,
		.mark = record_mark,
		.unmark = record_unmark,
		.not_atomic = record_not_atomic,
		.label = record_label,
		.accessed = record_accessed,
		.atomic_done = record_atomic_done,
		.alloc = record_alloc,
		.free = record_free,
		.forget = record_forget,
		.sync = record_sync,
		.released = record_sync,
		.module = record_module,
		.fork_child = record_fork_child,
		.finish = record_finish,
	};

	record_file_init(environment);
	recorder.reports_at_end = rt_options.predict;
	if (begin_recording(!*rt_options.record))
		tool_use_recorder(&recorder);
}
