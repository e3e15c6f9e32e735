// The policy of the page's content.
#include "cluster/monitoring/page.h"
#include "base/alloc.h"
#include "base/check.h"
#include <openssl/evp.h>
#include <string.h>

#define HASH_BYTES 32
#define HASH_TEXT_MAX (4 * ((HASH_BYTES + 2) / 3) + 1)

// The hash of what is between the tags, of which the page has one each.
static void hash_element(const char *begin_tag, const char *end_tag, char text[HASH_TEXT_MAX])
{
    const char *page = (const char *)bd_monitoring_page;
    const char *begin = memmem(page, bd_monitoring_page_len, begin_tag, strlen(begin_tag));
    BD_ASSERT(begin);
    begin += strlen(begin_tag);
    const char *end =
        memmem(begin, bd_monitoring_page_len - (size_t)(begin - page), end_tag, strlen(end_tag));
    BD_ASSERT(end);
    unsigned char hash[EVP_MAX_MD_SIZE];
    unsigned len = 0;
    BD_ASSERT(EVP_Digest(begin, (size_t)(end - begin), hash, &len, EVP_sha256(), NULL) == 1 &&
              len == HASH_BYTES);
    EVP_EncodeBlock((unsigned char *)text, hash, HASH_BYTES);
}

char *bd_monitoring_page_policy(void)
{
    char script[HASH_TEXT_MAX], style[HASH_TEXT_MAX];
    hash_element("<script>", "</script>", script);
    hash_element("<style>", "</style>", style);
    return bd_asprintf(
        "default-src 'none'; script-src 'sha256-%s'; style-src 'sha256-%s'; connect-src 'self'; "
        "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        script, style);
}
