// WAV files of 16 bits a sample, for the ops that read and write sounds.
#ifndef BD_OPS_AUDIO_WAV_H
#define BD_OPS_AUDIO_WAV_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

#define BD_WAV_FRAME_BYTES(CHANNELS) (2 * (CHANNELS))

// The bytes of a file of so many frames and channels; 0: there is no such file.
size_t bd_wav_size(int64_t frames, int64_t channels);
// Writes one; samples between -1 and 1 are those between the least and the greatest, others are limited.
void bd_wav_write(const float *samples, int64_t frames, int64_t channels, uint32_t rate, uint8_t *out);

// Where the samples are in a file.
typedef struct bd_wav {
    uint32_t rate;
    int64_t frames, channels;
    const uint8_t *data; // of the file
} bd_wav;

// InvalidArgument where the file is none, or not of 16 bits a sample.
braid_code bd_wav_read(const void *file, size_t len, bd_wav *wav, braid_status *st);
// A sample of one that was read.
float bd_wav_sample(const bd_wav *wav, int64_t frame, int64_t channel);

#endif
