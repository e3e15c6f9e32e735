// Fuzzes the readers of TF_CONFIG and of a cluster's JSON: any text is understood or refused with words.
#include "base/alloc.h"
#include "base/check.h"
#include "base/status.h"
#include <braid/cluster.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(braid_cluster *c, const braid_status *st)
{
    BD_ASSERT((c == NULL) == (st->code != BRAID_OK));
    BD_ASSERT(c || st->message[0]);
    braid_cluster_free(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = bd_strndup((const char *)data, size);
    BD_STATUS(a);
    check(braid_cluster_from_tf_config(text, a), a);
    BD_STATUS(b);
    check(braid_cluster_from_json(text, b), b);
    BD_STATUS(c);
    check(braid_cluster_from_hosts(text, NULL, c), c);
    bd_free(text);
    return 0;
}
