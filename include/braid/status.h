// Canonical status codes and messages: the errors of all fallible calls of Braid.
#ifndef BRAID_STATUS_H
#define BRAID_STATUS_H

#if defined(_WIN32)
#define BRAID_API
#else
#define BRAID_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/// The canonical codes that gRPC and TensorFlow share; the numbers are those of the protocol.
typedef enum braid_code {
    BRAID_OK = 0,
    BRAID_CANCELLED = 1,
    BRAID_UNKNOWN = 2,
    BRAID_INVALID_ARGUMENT = 3,
    BRAID_DEADLINE_EXCEEDED = 4,
    BRAID_NOT_FOUND = 5,
    BRAID_ALREADY_EXISTS = 6,
    BRAID_PERMISSION_DENIED = 7,
    BRAID_RESOURCE_EXHAUSTED = 8,
    BRAID_FAILED_PRECONDITION = 9,
    BRAID_ABORTED = 10,
    BRAID_OUT_OF_RANGE = 11,
    BRAID_UNIMPLEMENTED = 12,
    BRAID_INTERNAL = 13,
    BRAID_UNAVAILABLE = 14,
    BRAID_DATA_LOSS = 15,
    BRAID_UNAUTHENTICATED = 16
} braid_code;

/// A code with a message. Calls that fail return the code and fill the status they were given.
typedef struct braid_status braid_status;

/// Returns a new status that is BRAID_OK. The caller frees it.
BRAID_API braid_status *braid_status_new(void);

/// Frees `status`; NULL is accepted.
BRAID_API void braid_status_free(braid_status *status);

/// Makes `status` BRAID_OK with an empty message.
BRAID_API void braid_status_clear(braid_status *status);

/// Sets code and message (copied).
BRAID_API void braid_status_set(braid_status *status, braid_code code, const char *message);

BRAID_API braid_code braid_status_code(const braid_status *status);

/// Returns the message, or "" without one. Owned by `status`, valid until it is changed or freed.
BRAID_API const char *braid_status_message(const braid_status *status);

/// Returns the customary spelling of a code, "InvalidArgument" for instance; "Unknown" for a number that is
/// no code.
BRAID_API const char *braid_code_name(braid_code code);

#ifdef __cplusplus
}
#endif
#endif
