// Command-line options from a table: parsing them and printing their help.
#include "flags.h"
#include "base/strbuf.h"
#include <stdio.h>
#include <string.h>

static void print_help(const bd_flags *flags)
{
    printf("Usage: %s %s\n\n%s\n", flags->command, flags->usage, flags->about);
    printf("\nOptions:\n");
    for (int i = 0; i < flags->count; i++) {
        const bd_flag *f = &flags->flags[i];
        char left[64];
        snprintf(left, sizeof left, "--%s%s%s", f->name, f->argument ? " " : "",
                 f->argument ? f->argument : "");
        printf("  %-31s %s\n", left, f->help);
    }
    printf("  %-31s %s\n", "--help", "print this and exit");
}

static bd_flags_result usage_error(const bd_flags *flags, const char *what, const char *option)
{
    fprintf(stderr, "%s: %s '%s'. See '%s --help'.\n", flags->command, what, option, flags->command);
    return BD_FLAGS_ERROR;
}

static const bd_flag *find(const bd_flags *flags, const char *name, size_t len)
{
    for (int i = 0; i < flags->count; i++)
        if (strlen(flags->flags[i].name) == len && !memcmp(flags->flags[i].name, name, len))
            return &flags->flags[i];
    return NULL;
}

// The value of an option that may have none: what follows, if it is a number.
static bool takes(const bd_flag *f, const char *text)
{
    double number;
    return f->kind != BD_FLAG_BOOL &&
           (f->kind != BD_FLAG_OPTIONAL_SECONDS || (text && bd_parse_double(text, &number)));
}

static bool set(const bd_flag *f, const char *text)
{
    int64_t number;
    double seconds;
    if (!text && f->kind == BD_FLAG_OPTIONAL_SECONDS) {
        *(int64_t *)f->value = f->minimum;
        return true;
    }
    switch (f->kind) {
    case BD_FLAG_BOOL: *(bool *)f->value = true; return true;
    case BD_FLAG_STRING: *(const char **)f->value = text; return true;
    case BD_FLAG_INT:
        if (!bd_parse_int64(text, &number) || number < f->minimum || number > INT32_MAX) return false;
        *(int64_t *)f->value = number;
        return true;
    case BD_FLAG_OPTIONAL_SECONDS:
    case BD_FLAG_SECONDS:
        if (!bd_parse_double(text, &seconds) || !(seconds >= 0.001) || seconds > 1e9) return false;
        *(int64_t *)f->value = (int64_t)(seconds * 1000);
        return true;
    }
    return false;
}

bd_flags_result bd_flags_parse(const bd_flags *flags, int argc, char **argv, int *rest)
{
    int i = 1;
    for (; i < argc && argv[i][0] == '-' && argv[i][1]; i++) {
        if (!strcmp(argv[i], "--")) {
            i++;
            break;
        }
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
            print_help(flags);
            return BD_FLAGS_HELP;
        }
        if (strncmp(argv[i], "--", 2) != 0) return usage_error(flags, "unknown option", argv[i]);
        const char *name = argv[i] + 2, *option = argv[i], *equals = strchr(name, '=');
        const bd_flag *f = find(flags, name, equals ? (size_t)(equals - name) : strlen(name));
        if (!f) return usage_error(flags, "unknown option", option);
        if (f->kind == BD_FLAG_BOOL && equals) return usage_error(flags, "no value is taken by", option);
        const char *text = equals ? equals + 1 : NULL;
        if (!text && takes(f, argv[i + 1])) {
            if (i + 1 == argc) return usage_error(flags, "a value must follow", option);
            text = argv[++i];
        }
        if (!set(f, text)) {
            fprintf(stderr, "%s: --%s takes %s, not '%s'. See '%s --help'.\n", flags->command, f->name,
                    f->kind != BD_FLAG_INT ? "a number of seconds above 0" : "a whole number", text,
                    flags->command);
            return BD_FLAGS_ERROR;
        }
    }
    *rest = i;
    return BD_FLAGS_OK;
}
