// Optimizers' updates of variables, each in one pass over memory, for one type of number. training_simd.c
// includes this file once for each type.
//
// Parameters: T, the type; NAME(x), the name of function x for the type; SQRT(x), POW(x, y) and ABS(x).
//
// The loops write variables without a lock: see base/hogwild.h. All constants are rounded to the variable's
// type first, as TensorFlow's scalars are.

BD_HOGWILD static void NAME(gradient_descent)(void *var_p, const void *delta_p, int64_t n, double alpha_)
{
    T *var = var_p, alpha = (T)alpha_;
    const T *delta = delta_p;
    BD_VECTORIZE
    for (int64_t i = 0; i < n; i++)
        var[i] -= alpha * delta[i];
}

// accum = momentum accum + grad; var -= lr accum, or with Nesterov's look ahead (Sutskever et al. 2013).
BD_HOGWILD static void NAME(momentum)(void *var_p, void *accum_p, const void *grad_p, int64_t n, double lr_,
                                      double momentum_, bool nesterov)
{
    T *var = var_p, *accum = accum_p, lr = (T)lr_, momentum = (T)momentum_;
    const T *grad = grad_p;
    BD_VECTORIZE
    for (int64_t i = 0; i < n; i++) {
        T g = grad[i], a = accum[i] * momentum + g;
        accum[i] = a;
        var[i] -= nesterov ? g * lr + a * momentum * lr : a * lr;
    }
}

// accum += grad^2; var -= lr grad / (sqrt(accum) + epsilon) (Duchi et al. 2011; epsilon: Keras).
BD_HOGWILD static void NAME(adagrad)(void *var_p, void *accum_p, const void *grad_p, int64_t n, double lr_,
                                     double epsilon_, bool update_slots)
{
    T *var = var_p, *accum = accum_p, lr = (T)lr_, epsilon = (T)epsilon_;
    const T *grad = grad_p;
    BD_VECTORIZE
    for (int64_t i = 0; i < n; i++) {
        T g = grad[i], a = update_slots ? accum[i] + g * g : accum[i];
        accum[i] = a;
        var[i] -= g * lr / (SQRT(a) + epsilon);
    }
}

// Kingma and Ba 2014, with the step size of the end of their section 2.
BD_HOGWILD static void NAME(adam)(void *var_p, void *m_p, void *v_p, const void *grad_p, int64_t n,
                                  const bd_adam *o)
{
    T *var = var_p, *ms = m_p, *vs = v_p;
    const T *grad = grad_p;
    const T beta1 = (T)o->beta1, rest1 = 1 - beta1, rest2 = 1 - (T)o->beta2, epsilon = (T)o->epsilon;
    const T lr = (T)o->lr * SQRT(1 - (T)o->beta2_power) / (1 - (T)o->beta1_power);
    const bool nesterov = o->nesterov;
    BD_VECTORIZE
    for (int64_t i = 0; i < n; i++) {
        T g = grad[i], m = ms[i], v = vs[i];
        m += (g - m) * rest1;
        v += (g * g - v) * rest2;
        ms[i] = m;
        vs[i] = v;
        var[i] -= lr * (nesterov ? g * rest1 + beta1 * m : m) / (SQRT(v) + epsilon);
    }
}

// ms = rho ms + (1 - rho) grad^2; mom = momentum mom + lr grad / sqrt(ms + epsilon); var -= mom.
BD_HOGWILD static void NAME(rmsprop)(void *var_p, void *ms_p, void *mom_p, const void *grad_p, int64_t n,
                                     const bd_rmsprop *o)
{
    T *var = var_p, *ms = ms_p, *moms = mom_p;
    const T *grad = grad_p;
    const T lr = (T)o->lr, rest = 1 - (T)o->rho, momentum = (T)o->momentum, epsilon = (T)o->epsilon;
    BD_VECTORIZE
    for (int64_t i = 0; i < n; i++) {
        T g = grad[i], s = ms[i] + (g * g - ms[i]) * rest;
        T mom = moms[i] * momentum + g * lr / SQRT(s + epsilon);
        ms[i] = s;
        moms[i] = mom;
        var[i] -= mom;
    }
}

static inline T NAME(power)(T x, T y)
{
    return y == (T)0.5 ? SQRT(x) : POW(x, y);
}

// McMahan et al. 2013, figure 1; the second version's shrinkage is L2 added to the gradient that linear
// takes.
BD_HOGWILD static void NAME(ftrl)(void *var_p, void *accum_p, void *linear_p, const void *grad_p, int64_t n,
                                  const bd_ftrl *o)
{
    T *var = var_p, *accum = accum_p, *linear = linear_p;
    const T *grad = grad_p;
    const T lr = (T)o->lr, power = -(T)o->lr_power;
    const T times = o->linear_has_lr ? lr : 1, by = o->linear_has_lr ? 1 : lr;
    const T l1 = (T)o->l1 * times, l2 = (T)o->l2 * times;
    const T shrinkage = 2 * (T)o->l2_shrinkage;
    for (int64_t i = 0; i < n; i++) {
        T g = grad[i] + shrinkage * var[i], old = accum[i], sum = old + grad[i] * grad[i];
        T root = NAME(power)(sum, power);
        T z = linear[i] + g * times - (root - NAME(power)(old, power)) / by * var[i];
        accum[i] = sum;
        linear[i] = z;
        var[i] = ABS(z) > l1 ? ((z > 0 ? l1 : -l1) - z) / (root / by + 2 * l2) : 0;
    }
}

// Graves 2013, equations 38 to 41: RMSProp by the variance, ms - mg^2.
BD_HOGWILD static void NAME(centered_rmsprop)(void *var_p, void *mg_p, void *ms_p, void *mom_p,
                                              const void *grad_p, int64_t n, const bd_rmsprop *o)
{
    T *var = var_p, *mg = mg_p, *ms = ms_p, *moms = mom_p;
    const T *grad = grad_p;
    const T lr = (T)o->lr, rest = 1 - (T)o->rho, momentum = (T)o->momentum, epsilon = (T)o->epsilon;
    BD_VECTORIZE
    for (int64_t i = 0; i < n; i++) {
        T g = grad[i], s = ms[i] + (g * g - ms[i]) * rest, m = mg[i] + (g - mg[i]) * rest;
        T mom = moms[i] * momentum + g * lr / SQRT(s - m * m + epsilon);
        ms[i] = s;
        mg[i] = m;
        moms[i] = mom;
        var[i] -= mom;
    }
}

// Zeiler 2012, algorithm 1, scaled by lr.
BD_HOGWILD static void NAME(adadelta)(void *var_p, void *accum_p, void *update_p, const void *grad_p,
                                      int64_t n, const bd_adadelta *o)
{
    T *var = var_p, *accum = accum_p, *updates = update_p;
    const T *grad = grad_p;
    const T lr = (T)o->lr, rho = (T)o->rho, rest = 1 - rho, epsilon = (T)o->epsilon;
    BD_VECTORIZE
    for (int64_t i = 0; i < n; i++) {
        T g = grad[i], a = accum[i] * rho + g * g * rest;
        T step = SQRT(updates[i] + epsilon) / SQRT(a + epsilon) * g;
        accum[i] = a;
        updates[i] = updates[i] * rho + step * step * rest;
        var[i] -= step * lr;
    }
}

// Soft thresholding: toward 0 by `by`, and no further.
static inline T NAME(shrink)(T x, T by)
{
    T rest = ABS(x) - by;
    return rest <= 0 ? 0 : x > 0 ? rest : -rest;
}

// Duchi et al. 2011, dual averaging with L1 and L2: var from the sums alone.
BD_HOGWILD static void NAME(adagrad_da)(void *var_p, void *sum_p, void *square_p, const void *grad_p,
                                        int64_t n, const bd_adagrad_da *o)
{
    T *var = var_p, *sums = sum_p, *squares = square_p;
    const T *grad = grad_p;
    const T lr = (T)o->lr, step = (T)o->global_step, l1 = (T)o->l1 * step, l2 = (T)o->l2 * step;
    for (int64_t i = 0; i < n; i++) {
        T g = grad[i], sum = sums[i] + g, square = squares[i] + g * g;
        sums[i] = sum;
        squares[i] = square;
        var[i] = -lr * (l1 > 0 ? NAME(shrink)(sum, l1) : sum) / (l2 * lr + SQRT(square));
    }
}

// As adam, with the greatest v so far in the place of v (Reddi et al. 2018).
BD_HOGWILD static void NAME(amsgrad)(void *var_p, void *m_p, void *v_p, void *vhat_p, const void *grad_p,
                                     int64_t n, const bd_adam *o)
{
    T *var = var_p, *ms = m_p, *vs = v_p, *vhats = vhat_p;
    const T *grad = grad_p;
    const T rest1 = 1 - (T)o->beta1, rest2 = 1 - (T)o->beta2, epsilon = (T)o->epsilon;
    const T lr = (T)o->lr * SQRT(1 - (T)o->beta2_power) / (1 - (T)o->beta1_power);
    BD_VECTORIZE
    for (int64_t i = 0; i < n; i++) {
        T g = grad[i], m = ms[i], v = vs[i], vhat = vhats[i];
        m += (g - m) * rest1;
        v += (g * g - v) * rest2;
        vhat = vhat < v ? v : vhat;
        ms[i] = m;
        vs[i] = v;
        vhats[i] = vhat;
        var[i] -= m * lr / (SQRT(vhat) + epsilon);
    }
}

// Kingma and Ba 2014, section 7.1: the infinity norm in the place of v.
BD_HOGWILD static void NAME(adamax)(void *var_p, void *m_p, void *v_p, const void *grad_p, int64_t n,
                                    const bd_adam *o)
{
    T *var = var_p, *ms = m_p, *vs = v_p;
    const T *grad = grad_p;
    const T rest1 = 1 - (T)o->beta1, beta2 = (T)o->beta2, epsilon = (T)o->epsilon;
    const T lr = (T)o->lr / (1 - (T)o->beta1_power);
    BD_VECTORIZE
    for (int64_t i = 0; i < n; i++) {
        T g = grad[i], m = ms[i], v = vs[i] * beta2, size = ABS(g);
        m += (g - m) * rest1;
        v = v < size ? size : v;
        ms[i] = m;
        vs[i] = v;
        var[i] -= lr * (m / (v + epsilon));
    }
}

// accum = momentum accum - lr grad; var += accum, or with Nesterov's look ahead: the learning rate is in
// accum.
BD_HOGWILD static void NAME(keras_momentum)(void *var_p, void *accum_p, const void *grad_p, int64_t n,
                                            double lr_, double momentum_, bool nesterov)
{
    T *var = var_p, *accum = accum_p, lr = (T)lr_, momentum = (T)momentum_;
    const T *grad = grad_p;
    BD_VECTORIZE
    for (int64_t i = 0; i < n; i++) {
        T g = grad[i], a = accum[i] * momentum - g * lr;
        accum[i] = a;
        var[i] += nesterov ? a * momentum - g * lr : a;
    }
}

// m = beta m + (1 - beta) grad; var -= lr scale grad, by whether grad and m agree in sign (Bello et al.
// 2017).
BD_HOGWILD static void NAME(sign_step)(void *var_p, void *m_p, const void *grad_p, int64_t n,
                                       const bd_sign_step *o)
{
    T *var = var_p, *ms = m_p;
    const T *grad = grad_p;
    const T lr = (T)o->lr, beta = (T)o->beta;
    const T same = (T)o->same, opposite = (T)o->opposite, neither = (T)o->neither;
    for (int64_t i = 0; i < n; i++) {
        T g = grad[i], m = ms[i] * beta + g * (1 - beta);
        const bool is_same = (g > 0 && m > 0) || (g < 0 && m < 0);
        const bool is_opposite = (g > 0 && m < 0) || (g < 0 && m > 0);
        ms[i] = m;
        var[i] -= lr * (is_same ? same : is_opposite ? opposite : neither) * g;
    }
}

// Forward-backward splitting (Duchi and Singer 2009): a step by the gradient, then L1 and L2.
BD_HOGWILD static void NAME(proximal)(void *var_p, void *accum_p, const void *grad_p, int64_t n,
                                      const bd_proximal *o)
{
    T *var = var_p, *accum = accum_p;
    const T *grad = grad_p;
    const T lr = (T)o->lr, l1 = (T)o->l1, l2 = (T)o->l2;
    for (int64_t i = 0; i < n; i++) {
        T g = grad[i], rate = lr;
        if (accum) {
            T a = accum[i] + g * g;
            accum[i] = a;
            rate = lr / SQRT(a);
        }
        T v = var[i] - g * rate;
        var[i] = (l1 > 0 ? NAME(shrink)(v, l1 * rate) : v) / (1 + l2 * rate);
    }
}

#undef T
#undef NAME
#undef SQRT
#undef POW
#undef ABS
