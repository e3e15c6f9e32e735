// Braid for C++17, over the C interface: objects free themselves, errors are exceptions (braid::error) that
// name the line of the program, and lists are initializer lists.
//
//     braid::graph g;
//     auto x = g.placeholder<float>("x", {-1, 784});
//     auto loss = braid::reduce_mean(braid::square(braid::dense(x, 1) - 2));
//     auto train = braid::adam(g, 0.01f).minimize(loss);
//     braid::monitored_session s(g, {}, {braid_stop_at_step(1000)});
//     while (!s.should_stop())
//         s.run({{x, images}}, train);
//     s.close();
//
// Graphs, outputs and sessions convert to their C types, so that all functions of the C interface and those
// of raw_ops.h can be mixed in.
#ifndef BRAID_BRAID_HPP
#define BRAID_BRAID_HPP

#include <braid/braid.h>

#include <braid/candidate_sampling.hpp>
#include <braid/checkpoints.hpp>
#include <braid/control.hpp>
#include <braid/coordinator.hpp>
#include <braid/files.hpp>
#include <braid/graph.hpp>
#include <braid/input.hpp>
#include <braid/layers.hpp>
#include <braid/losses.hpp>
#include <braid/metrics.hpp>
#include <braid/ops.hpp>
#include <braid/optimizers.hpp>
#include <braid/queues.hpp>
#include <braid/recurrent.hpp>
#include <braid/replicas.hpp>
#include <braid/session.hpp>
#include <braid/summaries.hpp>
#include <braid/supervisors.hpp>
#include <braid/tensor.hpp>
#include <braid/training.hpp>
#include <braid/variables.hpp>

#endif
