/*
 * Events as text for people.
 *
 * Included by: commands.
 */
#ifndef ATOMSAN_CLI_EVENT_TEXT_H
#define ATOMSAN_CLI_EVENT_TEXT_H

#include "base/str.h"
#include "trace/event.h"
#include "trace/names.h"

/* Add "acq(m)", or the place. Control characters in names are escaped. */
void event_text_op(struct str *s, const struct names *names, const struct event *e);
void event_text_place(struct str *s, const struct names *names, const struct event *e);

#endif
