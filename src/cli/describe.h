/*
 * All commands and options, for programs: `atomsan --describe`, from which man
 * pages' option sections and shell completion are made. Lines of fields with a
 * tab between them:
 *
 *	command	NAME	SUMMARY
 *	option	COMMAND	LETTER	NAME	VALUE	HELP
 *	format	NAME	SUMMARY
 *	engine	NAME	SUMMARY
 *
 * LETTER and VALUE may be empty; a VALUE with "?" in front may be left out.
 *
 * Included by: main.c.
 */
#ifndef ATOMSAN_CLI_DESCRIBE_H
#define ATOMSAN_CLI_DESCRIBE_H

#include <stdio.h>

void describe_all(FILE *out);

#endif
