/* A controller that swings a pendulum up: model-predictive control with a gradient from cotan.

   Twenty times a second it improves a plan of torques for the next 1.5 seconds by descent along the
   gradient of its cost, applies the first of them, and moves the plan on. No memory is allocated, and
   the mathematics library is only for the plant that stands in for the real pendulum. */

#include <math.h>
#include <stdio.h>

#include "pendulum_cost.h"

enum { HORIZON = 30, DESCENTS = 40, STEPS = 120 };

static pendulum_cost_workspace value_work;
static pendulum_cost_grad_workspace work;

static double cost_of(const double *plan, double angle, double speed)
{
    double cost;
    pendulum_cost(plan, angle, speed, &cost, &value_work);
    return cost;
}

/* One descent with a step that is halved until the cost falls. */
static void improve(double *plan, double angle, double speed, double *rate)
{
    double cost, gradient[HORIZON], other[HORIZON];
    pendulum_cost_grad(plan, angle, speed, &cost, gradient, &work);
    for (int tries = 0; tries < 12; ++tries, *rate *= 0.5) {
        for (int n = 0; n < HORIZON; ++n) {
            const double torque = plan[n] - *rate * gradient[n];
            other[n] = torque > 6.0 ? 6.0 : torque < -6.0 ? -6.0 : torque;
        }
        if (cost_of(other, angle, speed) < cost) {
            for (int n = 0; n < HORIZON; ++n)
                plan[n] = other[n];
            *rate *= 1.5;
            return;
        }
    }
}

int main(void)
{
    /* It hangs down, and moves a little. */
    double angle = 3.0, speed = 0.0, plan[HORIZON] = {0}, rate = 1.0;
    for (int t = 0; t < STEPS; ++t) {
        for (int n = 0; n < DESCENTS; ++n)
            improve(plan, angle, speed, &rate);
        rate = rate < 1e-3 ? 1.0 : rate;
        const double torque = plan[0];
        speed += 0.05 * (9.81 * sin(angle) - 0.1 * speed + torque);
        angle += 0.05 * speed;
        for (int n = 0; n + 1 < HORIZON; ++n)
            plan[n] = plan[n + 1];
        plan[HORIZON - 1] = 0.0;
        if (t % 10 == 9)
            printf("%4.1f s: angle %7.3f, speed %7.3f, torque %7.3f\n", 0.05 * (t + 1), angle, speed,
                   torque);
    }
    const double left = angle - 6.283185307179586 * floor(angle / 6.283185307179586 + 0.5);
    if (fabs(left) > 0.1 || fabs(speed) > 0.2) {
        printf("the pendulum does not stand\n");
        return 1;
    }
    printf("the pendulum stands\n");
    return 0;
}
