/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What -cpu takes for x86: MODEL[,+NAME|-NAME|NAME[=VALUE]]...
 *
 * Used by: system/types-x86_64.c. Uses: json-c.
 */
#ifndef TARGET_I386_CPU_OPTION_H
#define TARGET_I386_CPU_OPTION_H

/**
 * x86_cpu_option_parse: properties of the CPU that @text asks for
 *
 * @model: gets the model's name; the caller frees it
 *
 * +NAME wins over NAME=VALUE and -NAME over both, wherever they stand. Names
 * are not checked: setting the properties does that.
 */
json_object *x86_cpu_option_parse(const char *text, char **model, Error **errp);
/* The names of features, for -cpu help. */
void x86_cpu_print_features(void);

#endif /* TARGET_I386_CPU_OPTION_H */
