// WAV files with 16 bits per sample, for DecodeWav and EncodeWav.
#ifndef BD_OPS_AUDIO_WAV_H
#define BD_OPS_AUDIO_WAV_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

#define BD_WAV_FRAME_BYTES(CHANNELS) (2 * (CHANNELS))

// The size in bytes of a file of `frames` frames and `channels` channels; 0 if either is below 1, or if the
// file would exceed the limits of the format.
size_t bd_wav_size(int64_t frames, int64_t channels);
// Writes a file of bd_wav_size bytes to `out`. `samples` is [frames, channels] in [-1, 1]; other values are
// clamped. `rate` is in frames per second.
void bd_wav_write(const float *samples, int64_t frames, int64_t channels, uint32_t rate, uint8_t *out);

// The format of a file and the position of its samples.
typedef struct bd_wav {
    uint32_t rate;
    int64_t frames, channels;
    const uint8_t *data; // inside the file's memory, not owned
} bd_wav;

// Parses a file of `len` bytes, which must outlive *wav. InvalidArgument when it is not a WAV file, or has
// not 16 bits per sample.
braid_code bd_wav_read(const void *file, size_t len, bd_wav *wav, braid_status *st);
// Returns a sample in [-1, 1].
float bd_wav_sample(const bd_wav *wav, int64_t frame, int64_t channel);

#endif
