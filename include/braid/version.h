// Which Braid this is.
#ifndef BRAID_VERSION_H
#define BRAID_VERSION_H

#include <braid/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Returns the version of the library, "0.1.0". Static.
BRAID_API const char *braid_version(void);

#ifdef __cplusplus
}
#endif
#endif
