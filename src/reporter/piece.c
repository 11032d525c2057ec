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

int piece_write(struct piece *p, int fd)
{
	size_t done = 0;
	int rc = 0;

	fclose(p->out);
	while (done < p->n && !rc) {
		ssize_t n = write(fd, p->text + done, p->n - done);

		if (n >= 0)
			done += (size_t)n;
		else if (errno == EAGAIN)
			wait_for(fd);
		else if (errno != EINTR)
			rc = -1;
	}
	free(p->text);
	return rc;
}
