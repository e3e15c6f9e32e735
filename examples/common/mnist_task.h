// Common to the programs that train on images of digits: the flags of a task, its cluster and server, the
// training loop and the evaluation. A program adds its model and its own flags.
#ifndef MNIST_TASK_H
#define MNIST_TASK_H

#include "flags.h"
#include <braid/braid.h>

// The flags that all programs have.
typedef struct mnist_flags {
    const char *data_dir, *job_name, *ps_hosts, *worker_hosts, *log_dir;
    int64_t task_index, train_steps, batch_size, queue_batches;
    double learning_rate, save_checkpoint_secs;
    bool existing_servers, insecure, log_device_placement, greedy_placement;
} mnist_flags;

extern mnist_flags mnist_task_flags;

typedef struct mnist_model {
    braid_out images, labels;           // placeholders: [batch, 784] and, one-hot, [batch, 10]
    braid_out next_images, next_labels; // with --queue_batches: placeholders of a batch for the queue
    braid_op *enqueue;                  // puts it there; NULL: each step is fed
    // placeholder of a scalar: the keep probability of dropout; op NULL: there is no dropout
    braid_out keep_prob;
    double keep_in_training; // fed to it while training
    braid_out scores;        // [batch, 10]: the largest is the digit that is recognized
    braid_out loss;          // a scalar
    braid_op *train;
    braid_sync_replicas *sync;  // synchronizes the workers; NULL: they are asynchronous
    braid_algorithm *algorithm; // by which the workers share the variables; NULL: another one
    int threads;                // that train at the same time, by braid_hogwild, in a single process; 0: one
    int64_t last_step;          // the global step at which training ends; 0: --train_steps
} mnist_model;

typedef struct mnist_program {
    const char *name, *about;        // about: for --help, in a line
    int64_t train_steps, batch_size; // defaults of these flags, as the next
    double learning_rate;
    flag *flags; // of its own
    int flag_count;
    const char *device;         // the part of a device name after the task: "/cpu:0" or ""
    const char *(*check)(void); // returns the error of its flags; NULL: none
    // for one of so many workers, at least 1
    mnist_model (*build)(braid_graph *g, int workers, int worker);
    // images in a step of the evaluation, which bounds its memory
    int test_batch;
} mnist_program;

// A model's placeholders of images and labels; the rest is for the caller to fill in.
mnist_model mnist_model_new(braid_graph *g);

// The part of the fed images that is recognized, a scalar. mnist_main adds it to the model when that is
// built.
braid_out mnist_accuracy(braid_graph *g, const mnist_model *model);

// The program: reads flags, finds out which task this is, serves or trains and tests. Returns the exit code.
int mnist_main(const mnist_program *program, int argc, char **argv);

#endif
