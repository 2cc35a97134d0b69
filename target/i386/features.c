/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Features as properties of the CPU object, and the forms in which -cpu takes
 * them: +NAME, -NAME, NAME=on|off, NAME alone, '_' for '-', old names.
 */
#include "qemu/osdep.h"

#include <json-c/json.h>

#include "internals.h"
#include "qapi/json.h"
#include "qemu/error.h"
#include "target/i386/cpuid.h"
#include "target/i386/cpu-option.h"

/* ---- properties ---- */

static json_object *get_feature(Object *obj, const Property *prop, Error **errp)
{
    const X86CPU *cpu = X86_CPU(obj);
    X86Feature w;
    unsigned b;
    uint32_t bits;

    if (!x86_feature_find(prop->name, &w, &b)) {
        g_assert_not_reached();
    }
    bits = cpu->realized ? cpu->features[w]
                         : cpu->features_on[w] & ~cpu->features_off[w];
    return json_object_new_boolean(bits >> b & 1);
}

static void switch_feature(X86CPU *cpu, X86Feature w, unsigned b, bool on)
{
    uint32_t bit = 1u << b;

    if (on) {
        cpu->features_on[w] |= bit;
        cpu->features_off[w] &= ~bit;
    } else {
        cpu->features_off[w] |= bit;
        cpu->features_on[w] &= ~bit;
    }
}

static bool set_feature(Object *obj, const Property *prop, json_object *value,
                        Error **errp)
{
    bool on = json_object_get_boolean(value);
    X86Feature w;
    unsigned b;

    if (!x86_feature_find(prop->name, &w, &b)) {
        g_assert_not_reached();
    }
    switch_feature(X86_CPU(obj), w, b, on);
    if (w == FEAT_KVM && b == 0) {
        switch_feature(X86_CPU(obj), w, 3, on); /* its newer registers */
    }
    return true;
}

void x86_feature_properties(GArray *props)
{
    for (int w = 0; w < FEATURE_WORDS; w++) {
        for (unsigned b = 0; b < 32; b++) {
            Property p = DEFINE_PROP_FN(x86_feature_words[w].names[b],
                                        &qapi_bool_type, get_feature,
                                        set_feature);

            if (p.name) {
                g_array_append_val(props, p);
            }
        }
    }
}

/* ---- -cpu ---- */

static const struct {
    const char *old, *name;
} aliases[] = {
    { "sse3", "pni" },      { "pclmuldq", "pclmulqdq" },
    { "sse4-1", "sse4.1" }, { "sse4-2", "sse4.2" },
    { "xd", "nx" },         { "ffxsr", "fxsr-opt" },
    { "i64", "lm" },
};

/* The property that @text means; caller frees. */
static char *property_name(const char *text, size_t len)
{
    char *name = g_strndup(text, len);

    g_strdelimit(name, "_", '-');
    for (size_t i = 0; i < ARRAY_SIZE(aliases); i++) {
        if (g_str_equal(name, aliases[i].old)) {
            g_free(name);
            return g_strdup(aliases[i].name);
        }
    }
    return name;
}

/* Up to the next comma; two commas are one that belongs to it. */
static char *next_word(const char **s)
{
    GString *word = g_string_new(NULL);

    while (**s) {
        if (**s == ',' && *++*s != ',') {
            break;
        }
        g_string_append_c(word, *(*s)++);
    }
    return g_string_free(word, FALSE);
}

static void put(json_object *props, const char *text, size_t len,
                const char *value)
{
    g_autofree char *name = property_name(text, len);

    json_object_object_add(props, name, json_object_new_string(value));
}

static bool put_word(json_object *props, const char *word, Error **errp)
{
    const char *eq = strchr(word, '=');

    if (!*word || eq == word) {
        error_setg(errp, "expected NAME=VALUE, +NAME or -NAME, found '%s'",
                   word);
        return false;
    }
    if (eq) {
        put(props, word, eq - word, eq + 1);
    } else if (*word != '+' && *word != '-') {
        put(props, word, strlen(word), "on");
    }
    return true;
}

json_object *x86_cpu_option_parse(const char *text, char **model, Error **errp)
{
    g_autoptr(json_object) props = json_object_new_object();
    g_autoptr(GPtrArray) switches = g_ptr_array_new_with_free_func(g_free);
    const char *s = text;
    g_autofree char *name = next_word(&s);

    while (*s) {
        char *word = next_word(&s);

        if (!put_word(props, word, errp)) {
            g_free(word);
            return NULL;
        }
        g_ptr_array_add(switches, word);
    }
    /* +NAME wins over NAME=..., and -NAME over both, in whatever order. */
    for (int minus = 0; minus < 2; minus++) {
        for (guint i = 0; i < switches->len; i++) {
            const char *word = switches->pdata[i];

            if (*word == (minus ? '-' : '+') && !strchr(word, '=')) {
                put(props, word + 1, strlen(word + 1), minus ? "off" : "on");
            }
        }
    }
    *model = g_steal_pointer(&name);
    return g_steal_pointer(&props);
}

/* ---- -cpu help ---- */

static int compare_names(gconstpointer a, gconstpointer b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

void x86_cpu_print_features(void)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    unsigned column = 0;

    for (int w = 0; w < FEATURE_WORDS; w++) {
        for (unsigned b = 0; b < 32; b++) {
            if (x86_feature_words[w].names[b]) {
                g_ptr_array_add(names, (char *)x86_feature_words[w].names[b]);
            }
        }
    }
    g_ptr_array_sort(names, compare_names);
    printf("\nRecognized CPUID flags:\n");
    for (guint i = 0; i < names->len; i++) {
        const char *name = names->pdata[i];

        if (column && column + 1 + strlen(name) > 75) {
            printf("\n");
            column = 0;
        }
        column += printf(column ? " %s" : "  %s", name);
    }
    printf("\n");
}
