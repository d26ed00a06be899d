# SPDX-License-Identifier: Apache-2.0
"""The same work in JAX: `capture_jax.py study|references`. Prints when each case ran (nanoseconds since 1970): XLA
names its ranges after modules, not after cases."""
import ctypes
import json
import os
import sys
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
import jax
import jax.numpy as jnp

driver = ctypes.CDLL("libcuda.so.1")


def recorded(run, name, steps):
    """Runs after warm-up, watched; when."""
    for _ in range(3):
        jax.block_until_ready(run())
    driver.cuProfilerStart()
    time.sleep(0.15)
    begin = time.time_ns()
    walls = []
    for _ in range(steps):
        at = time.perf_counter()
        jax.block_until_ready(run())
        walls.append(1e3 * (time.perf_counter() - at))
    end = time.time_ns()
    driver.cuProfilerStop()
    time.sleep(0.15)
    return {"name": name, "begin_ns": begin, "end_ns": end, "steps": steps, "wall_ms": sorted(walls)[len(walls) // 2]}


ALEXNET = [(64, 3, 11, 4, 2, True), (192, 64, 5, 1, 2, True), (384, 192, 3, 1, 1, False), (256, 384, 3, 1, 1, False),
           (256, 256, 3, 1, 1, True)]


def conv(x, weight, stride, pad):
    return jax.lax.conv_general_dilated(x, weight, (stride, stride), [(pad, pad)] * 2,
                                        dimension_numbers=("NCHW", "OIHW", "NCHW"))


def forward(weights, x):
    for weight, (_, _, _, stride, pad, has_pool) in zip(weights, ALEXNET):
        x = jax.nn.relu(conv(x, weight, stride, pad))
        if has_pool:
            x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 1, 3, 3), (1, 1, 2, 2), "VALID")
    x = x.reshape(x.shape[0], -1)
    for i, weight in enumerate(weights[len(ALEXNET):]):
        x = x @ weight
        x = jax.nn.relu(x) if i < 2 else x
    return x


def loss_of(weights, x, labels):
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(forward(weights, x)), labels[:, None], 1))


@jax.jit
def alexnet_step(weights, moments, x, labels):
    loss, gradients = jax.value_and_grad(loss_of)(weights, x, labels)
    moments = [0.9 * m + g for m, g in zip(moments, gradients)]
    return [w - 0.001 * m for w, m in zip(weights, moments)], moments, loss


def study(batches="4,16,64"):
    key = jax.random.PRNGKey(0)
    shapes = [(o, i, k, k) for o, i, k, _, _, _ in ALEXNET] + [(9216, 4096), (4096, 4096), (4096, 1000)]
    weights = [0.01 * jax.random.normal(key, shape) for shape in shapes]
    moments = [jnp.zeros_like(w) for w in weights]
    cases = []
    for batch in (int(text) for text in batches.split(",")):
        x = jax.random.normal(key, (batch, 3, 224, 224))
        labels = jnp.zeros((batch,), jnp.int32)
        cases.append(recorded(lambda x=x, labels=labels: alexnet_step(weights, moments, x, labels), f"jax:alexnet:{batch}", 5))
        print(json.dumps({"cases": cases}), flush=True)
    return cases


def lstm_cell(carry, x, weights):
    h, c = carry
    gates = x @ weights[0].T + h @ weights[1].T + weights[2]
    i, f, g, o = jnp.split(gates, 4, axis=1)
    c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
    h = jax.nn.sigmoid(o) * jnp.tanh(c)
    return (h, c), h


def references(batches="16,64", dtypes="fp32,fp16"):
    """conv2d and LSTM. fp32 is fp32: no TF32. The gradient is that of the weights; the convolution's needs no forward
    pass, the LSTM's computes it again."""
    jax.config.update("jax_default_matmul_precision", "highest")
    cases = []
    for dtype in dtypes.split(","):
        for batch in (int(text) for text in str(batches).split(",")):
            cases += reference_cases(batch, dtype, {"fp32": jnp.float32, "fp16": jnp.float16}[dtype])
    return cases


def reference_cases(batch, dtype, kind):
    key = jax.random.PRNGKey(0)
    weight = jax.random.normal(key, (64, 64, 3, 3), kind)
    x = jax.random.normal(key, (batch, 64, 112, 112), kind)
    convolution = jax.jit(lambda w, v: conv(v, w, 2, 0))
    gradient = jax.jit(jax.grad(lambda w, v: conv(v, w, 2, 0).sum()))
    weights = [jax.random.normal(key, shape, kind) for shape in ((64, 32), (64, 16), (64,))]
    sequence = jax.random.normal(key, (16, batch, 32), kind)

    def run(w, s):
        zero = jnp.zeros((batch, 16), kind)
        return jax.lax.scan(lambda carry, v: lstm_cell(carry, v, w), (zero, zero), s)[1]

    forward_pass = jax.jit(run)
    both = jax.jit(jax.grad(lambda w, s: run(w, s).sum()))
    name = f"jax:{{}}:{batch}:{{}}:{dtype}"
    return [recorded(lambda: convolution(weight, x), name.format("conv2d", "forward"), 5),
            recorded(lambda: gradient(weight, x), name.format("conv2d", "backward"), 5),
            recorded(lambda: forward_pass(weights, sequence), name.format("lstm", "forward"), 5),
            recorded(lambda: both(weights, sequence), name.format("lstm", "forward and backward"), 5)]


if __name__ == "__main__":
    answer = json.dumps({"cases": globals()[sys.argv[1]](*sys.argv[2:])})
    print(answer, flush=True)
    if "STRATA_STUDY_CASES" in os.environ:  # `strata reproduce capture --run` reads them there
        with open(os.environ["STRATA_STUDY_CASES"], "w", encoding="utf-8") as file:
            file.write(answer)
