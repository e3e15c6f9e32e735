// The losses of stochastic dual coordinate ascent. With S for p->norm, the new dual variable of an example
// maximizes its share of the dual objective of S. Shalev-Shwartz and T. Zhang, "Stochastic Dual Coordinate
// Ascent Methods for Regularized Loss Minimization" (arXiv 1209.1873; with proximal terms 1211.2717 and
// 1309.2375). A step for one of several partitions counts the norm once for each of them: C. Ma et al.,
// "Adding vs. Averaging in Distributed Primal-Dual Optimization" (arXiv 1502.03508).
#include "ops/training/sdca_loss.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#define NEWTON_STEPS 10 // as in TensorFlow; the steps converge quadratically

// ---- Labels ----

static bool sign_of_class(float *label)
{
    if (*label == 0)
        *label = -1;
    else if (*label != 1)
        return false;
    return true;
}
#define CLASSES "Only labels of 0.0 or 1.0 are supported right now."

static bool any_label(float *label)
{
    (void)label;
    return true;
}

static bool is_count(float *label)
{
    return !(*label < 0);
}

// ---- Logistic: log(1 + exp(-y wx)) ----

// The dual variable is (1 + tanh x) / 2y, so that it stays within its range. Newton's method finds the x at
// which the derivative is 0.
static double logistic_update(const bd_sdca_point *p)
{
    double x = 0, y = p->label;
    for (int i = 0; i < NEWTON_STEPS; i++) {
        double t = tanh(x);
        double value = -2 * y * x - p->wx - p->norm * (0.5 * (1 + t) / y - p->dual);
        double slope = -2 * y - p->norm * 0.5 * (1 - t * t) / y;
        x -= value / slope;
    }
    return 0.5 * (1 + tanh(x)) / y;
}

static double logistic_primal(double wx, double label, double weight)
{
    double m = label * wx;
    return (m > 0 ? log1p(exp(-m)) : log1p(exp(m)) - m) * weight;
}

static double x_log_x(double x)
{
    return x > 0 ? x * log(x) : 0;
}

static double logistic_conjugate(double dual, double label, double weight)
{
    double a = dual * label;
    return (x_log_x(a) + x_log_x(1 - a)) * weight;
}

static double logistic_derivative(double wx, double label)
{
    double m = label * wx;
    return -label * (m > 0 ? exp(-m) / (1 + exp(-m)) : 1 / (1 + exp(m)));
}

// ---- Squared: (wx - y)^2 / 2 ----

static double squared_update(const bd_sdca_point *p)
{
    return p->dual + (p->label - p->dual - p->wx) / (1 + p->norm);
}

static double squared_primal(double wx, double label, double weight)
{
    return (wx - label) * (wx - label) * weight * 0.5;
}

static double squared_conjugate(double dual, double label, double weight)
{
    return dual * (0.5 * dual - label) * weight;
}

static double squared_derivative(double wx, double label)
{
    return wx - label;
}

// ---- Hinge: max(0, 1 - y wx) ----

// y times the dual variable lies between 0 and 1.
static double within_hinge(double dual, double label)
{
    if (label * dual < 0) return 0;
    return label * dual > 1 ? label : dual;
}

static double hinge_update(const bd_sdca_point *p)
{
    const double gap = p->label - p->wx; // 0: the dual variable is right, also where the norm is 0
    return within_hinge(gap == 0 ? p->dual : p->dual + gap / p->norm, p->label);
}

static double hinge_primal(double wx, double label, double weight)
{
    return fmax(0, 1 - label * wx) * weight;
}

static double hinge_conjugate(double dual, double label, double weight)
{
    double a = dual * label;
    return a < 0 || a > 1 ? (double)INFINITY : -a * weight;
}

static double hinge_derivative(double wx, double label)
{
    return label * wx < 1 ? -label : 0;
}

// ---- Smooth hinge: that of hinge, with a parabola of this width in place of the kink ----

#define GAMMA 1.0

static double smooth_hinge_update(const bd_sdca_point *p)
{
    double step = (p->label - p->wx - GAMMA * p->dual) / (p->norm + GAMMA);
    return within_hinge(p->dual + step, p->label);
}

static double smooth_hinge_primal(double wx, double label, double weight)
{
    double m = label * wx;
    if (m >= 1) return 0;
    if (m <= 1 - GAMMA) return (1 - m - GAMMA / 2) * weight;
    return (1 - m) * (1 - m) * weight * 0.5 / GAMMA;
}

static double smooth_hinge_conjugate(double dual, double label, double weight)
{
    double a = dual * label;
    return a < 0 || a > 1 ? (double)INFINITY : (-a + 0.5 * GAMMA * dual * dual) * weight;
}

static double smooth_hinge_derivative(double wx, double label)
{
    double m = label * wx;
    if (m >= 1) return 0;
    return m <= 1 - GAMMA ? -label : (wx - label) / GAMMA;
}

// ---- Poisson: exp(wx) - y wx ----

// The dual variable is y - exp(x). Newton's method finds x.
static double poisson_update(const bd_sdca_point *p)
{
    double rest = p->label - p->dual, x = rest > 0 ? log(rest) : 0;
    for (int i = 0; i < NEWTON_STEPS; i++) {
        double e = exp(x);
        x -= (x - p->wx - p->norm * (rest - e)) / (1 + p->norm * e);
    }
    return p->label - exp(x);
}

static double poisson_primal(double wx, double label, double weight)
{
    return (exp(wx) - wx * label) * weight;
}

static double poisson_conjugate(double dual, double label, double weight)
{
    double rest = label - dual;
    if (rest == 0) return 0;
    return rest < 0 ? (double)INFINITY : rest * (log(rest) - 1) * weight;
}

static double poisson_derivative(double wx, double label)
{
    return exp(wx) - label;
}

static const bd_sdca_loss losses[] = {
    {"logistic_loss", sign_of_class, CLASSES, logistic_update, logistic_primal, logistic_conjugate,
     logistic_derivative, 4},
    {"squared_loss", any_label, "", squared_update, squared_primal, squared_conjugate, squared_derivative, 1},
    {"hinge_loss", sign_of_class, CLASSES, hinge_update, hinge_primal, hinge_conjugate, hinge_derivative, 0},
    {"smooth_hinge_loss", sign_of_class, CLASSES, smooth_hinge_update, smooth_hinge_primal,
     smooth_hinge_conjugate, smooth_hinge_derivative, GAMMA},
    // As in TensorFlow, 1 stands for the constant, which the loss has not; only samples depend on it.
    {"poisson_loss", is_count, "Only non-negative labels can be used with the Poisson log loss.",
     poisson_update, poisson_primal, poisson_conjugate, poisson_derivative, 1},
};

const bd_sdca_loss *bd_sdca_loss_find(const char *name)
{
    for (size_t i = 0; i < sizeof losses / sizeof *losses; i++) {
        if (strcmp(losses[i].name, name) == 0) return &losses[i];
    }
    return NULL;
}
