/*
 * Text for XML and for Graphviz's labels, which are read as such.
 *
 * Who may include this: report writers.
 */
#ifndef ATOMSAN_REPORT_XML_H
#define ATOMSAN_REPORT_XML_H

#include <stdbool.h>

#include "base/str.h"

/*
 * Add any text as the content of an element or attribute: markup escaped, what XML does
 * not allow (not even as a reference) as U+FFFD. A newline stays unless `one_line`.
 */
void xml_add(struct str *b, const char *s, bool one_line);

#endif
