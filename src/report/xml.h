/*
 * Escapes text for XML and for Graphviz's HTML-like labels.
 *
 * Included by: report writers.
 */
#ifndef ATOMSAN_REPORT_XML_H
#define ATOMSAN_REPORT_XML_H

#include <stdbool.h>

#include "base/str.h"

/*
 * Add any text as the content of an element or attribute. Markup is escaped; characters
 * that XML forbids even as references become U+FFFD. With `one_line`, newlines and tabs
 * become spaces.
 */
void xml_add(struct str *b, const char *s, bool one_line);

#endif
