#include "runtime/record/predict.h"

#include "runtime/link/reporter_link.h"
#include "runtime/os/options.h"
#include "runtime/record/file.h"

#include "base/banned.h"

static uint32_t sent; /* the reporter has the file */

bool predict_send_file(void)
{
	int file = record_file_descriptor();

	if (__atomic_load_n(&sent, __ATOMIC_RELAXED) ||
	    __atomic_exchange_n(&sent, 1, __ATOMIC_RELAXED))
		return true;
	if (file >= 0 && link_send_file(LIVE_RUN, file))
		return true;
	__atomic_store_n(&sent, 0, __ATOMIC_RELAXED);
	if (file < 0)
		predict_send_failure();
	rt_say("nothing is predicted: %s",
	       file < 0 ? "the program has closed the file of its recording"
			: "the program 'atomsan' cannot be started");
	return false;
}

void predict_send_failure(void)
{
	if (*rt_options.reporter)
		link_send(LIVE_RUN, NULL, 0, NULL, 0);
}

uint64_t predict_finish(void)
{
	struct live_shown shown = {0};
	struct live_end end = {0};

	if (!__atomic_exchange_n(&sent, 0, __ATOMIC_RELAXED))
		return 0;
	if (!link_send(LIVE_END, &(struct link_part){&end, sizeof end}, 1, &shown, sizeof shown))
		rt_say("nothing is predicted: the program 'atomsan' has gone, or is stopped");
	return shown.findings;
}

void predict_child(void)
{
	sent = 0;
	link_child();
}
