/*
 * An event loop, work for its pool of threads, and threads that wake it. The totals do not depend
 * on the order.
 */
#include <stdio.h>
#include <uv.h>

enum { JOBS = 40, SENDERS = 2, SIGNALS = 20 };
static uv_mutex_t lock;
static uv_async_t async;
static int worked, done, ended;

static void work(uv_work_t *req)
{
	(void)req;
	uv_mutex_lock(&lock);
	worked++;
	uv_mutex_unlock(&lock);
}

static void close_if_done(void)
{
	int all;

	uv_mutex_lock(&lock);
	all = done == JOBS && ended == SENDERS;
	uv_mutex_unlock(&lock);
	if (all && !uv_is_closing((uv_handle_t *)&async))
		uv_close((uv_handle_t *)&async, NULL);
}

static void after_work(uv_work_t *req, int status)
{
	(void)req;
	uv_mutex_lock(&lock);
	done += !status;
	uv_mutex_unlock(&lock);
	close_if_done();
}

static void on_async(uv_async_t *a)
{
	(void)a;
	close_if_done();
}

static void send_some(void *arg)
{
	(void)arg;
	for (int i = 0; i < SIGNALS; i++)
		uv_async_send(&async);
	uv_mutex_lock(&lock);
	ended++;
	uv_mutex_unlock(&lock);
	uv_async_send(&async);
}

int main(void)
{
	static uv_work_t jobs[JOBS];
	uv_thread_t t[SENDERS];
	uv_loop_t *loop = uv_default_loop();

	uv_mutex_init(&lock);
	uv_async_init(loop, &async, on_async);
	for (int i = 0; i < JOBS; i++)
		uv_queue_work(loop, &jobs[i], work, after_work);
	for (int i = 0; i < SENDERS; i++)
		uv_thread_create(&t[i], send_some, NULL);
	uv_run(loop, UV_RUN_DEFAULT);
	for (int i = 0; i < SENDERS; i++)
		uv_thread_join(&t[i]);
	printf("%d %d\n", worked, done);
	return uv_loop_close(loop);
}
