#include "reporter/piece.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"

#include "base/banned.h"

void piece_begin(struct piece *p)
{
	*p = (struct piece){0};
	p->out = open_memstream(&p->text, &p->n);
	if (!p->out)
		mem_exhausted(sizeof *p->out);
}

/* A terminal or pipe that takes no more now will do so later. */
static void wait_for(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLOUT};

	poll(&p, 1, -1);
}

void piece_finish(struct piece *p)
{
	if (p->out && fclose(p->out))
		mem_exhausted(p->n);
	p->out = NULL;
}

void piece_free(struct piece *p)
{
	piece_finish(p);
	free(p->text);
	p->text = NULL;
	p->n = 0;
}

int piece_write(struct piece *p, int fd)
{
	size_t done = 0;

	piece_finish(p);
	while (done < p->n) {
		ssize_t n = write(fd, p->text + done, p->n - done);

		if (n >= 0)
			done += (size_t)n;
		else if (errno == EAGAIN)
			wait_for(fd);
		else if (errno != EINTR)
			return -1;
	}
	piece_free(p);
	return 0;
}
