// Regular expressions by RE2, for C. No exception leaves this file.
#include "ops/string/regex.h"

#include <cstdio>
#include <new>
#include <re2/re2.h>
#include <string>

struct bd_regex {
    re2::RE2 re;
};

extern "C" bd_regex *bd_regex_new(const char *pattern, size_t len, char why[BD_REGEX_WHY_MAX])
{
    try {
        re2::RE2::Options options;
        options.set_log_errors(false);
        auto *r = new bd_regex{{re2::StringPiece(pattern, len), options}};
        if (r->re.ok()) return r;
        snprintf(why, BD_REGEX_WHY_MAX, "%s", r->re.error().c_str());
        delete r;
    } catch (const std::bad_alloc &) {
        snprintf(why, BD_REGEX_WHY_MAX, "memory is short");
    }
    return nullptr;
}

extern "C" void bd_regex_free(bd_regex *r)
{
    delete r;
}

extern "C" bool bd_regex_matches(const bd_regex *r, const char *text, size_t len)
{
    try {
        return re2::RE2::FullMatch(re2::StringPiece(text, len), r->re);
    } catch (const std::bad_alloc &) {
        return false;
    }
}

extern "C" bool bd_regex_replace(const bd_regex *r, const char *text, size_t len, const char *rewrite,
                                 size_t rewrite_len, bool all,
                                 bool (*put)(void *arg, const char *data, size_t len), void *arg)
{
    std::string result;
    try {
        re2::StringPiece to(rewrite, rewrite_len);
        std::string error;
        result.assign(text, len);
        if (r->re.CheckRewriteString(to, &error)) {
            if (all)
                re2::RE2::GlobalReplace(&result, r->re, to);
            else
                re2::RE2::Replace(&result, r->re, to);
        }
    } catch (const std::bad_alloc &) {
        return false;
    }
    return put(arg, result.data(), result.size());
}
