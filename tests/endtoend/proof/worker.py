"""Builds models from one diffusers package, runs them, and saves outputs and observations.

Run as a program, one process for the original and one for the migrated package:

    python -P worker.py --package-dir DIR [--runtime-dir DIR] --weights DIR --out FILE NAME...

DIR of --package-dir holds the package `diffusers` to use and comes first on sys.path. Weights are
drawn by the first process that finds none and read by the others. FILE gets, by torch.save, a dict:
model name -> {"error": traceback} or {"keys", dtype name -> {"outputs", "events", "kernels",
"runtime", "below"}}; with --definitions also "definitions" -> call's name -> definitions.run's
entry.
"""

import argparse
import dataclasses
import os
import sys
import traceback
import warnings

SEED = 20240607


# A projection whose result is normalised next, by the name of that norm in the same module.
NORMALISED = {
    "norm_q": "to_q",
    "norm_k": "to_k",
    "norm_added_q": "add_q_proj",
    "norm_added_k": "add_k_proj",
}


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--package-dir", required=True, help="directory that holds the diffusers package"
    )
    parser.add_argument("--runtime-dir", help="directory that holds the mindiesd package")
    parser.add_argument(
        "--weights", required=True, help="directory of the drawn weights, one file a model"
    )
    parser.add_argument("--out", required=True, help="file for the results")
    parser.add_argument("--definitions", action="store_true", help="call definitions.CALLS too")
    parser.add_argument("names", nargs="+", help="models, by their names in models.CASES")
    return parser.parse_args()


def draw_parameters(model, seed: int) -> None:
    """Fills every parameter from a generator, so that no unit norm and no zero gate hides an error.

    Weights of norms lie around one; matrices keep the size of what they multiply; everything else
    (biases, gates, tables, tokens) is normal with a standard deviation of 0.3. What is normalised
    next is small, with a mean square around 1e-3, so that another epsilon shows.
    """
    import torch

    generator = torch.Generator().manual_seed(seed)
    norm_weights = {
        id(parameter)
        for module in model.modules()
        if "norm" in type(module).__name__.lower()
        for name, parameter in module.named_parameters(recurse=False)
        if name in ("weight", "gamma")
    }
    for parameter in model.parameters():
        values = torch.randn(parameter.shape, generator=generator)
        if id(parameter) in norm_weights:
            values = 1 + 0.3 * values
        elif parameter.ndim >= 2 and parameter.shape[0] > 2:
            values = values / max(parameter[0].numel(), 1) ** 0.5
        else:
            values = 0.3 * values
        parameter.data.copy_(values)
    for module in model.modules():
        for norm, projection in NORMALISED.items():
            if getattr(module, norm, None) is not None and hasattr(module, projection):
                for parameter in getattr(module, projection).parameters():
                    parameter.data.mul_(0.03)


def flat_outputs(output) -> list:
    """Every tensor in a model's output, in a fixed order, as float64."""
    import torch

    if isinstance(output, torch.Tensor):
        return [output.double()]
    if isinstance(output, dict):
        output = list(output.values())
    if isinstance(output, (list, tuple)):
        return [tensor for part in output for tensor in flat_outputs(part)]
    if hasattr(output, "sample"):
        return flat_outputs(output.sample)
    return []


def run_model(name: str, package_dir: str, weights_dir: str) -> dict:
    """Builds and runs one model in float32 and bfloat16; the entry of the result file."""
    import diffusers
    import torch

    from proof import models, observe

    case = models.CASES[name]
    seed = SEED + list(models.CASES).index(name)
    torch.manual_seed(seed)
    model = getattr(diffusers, case.class_name)(**case.config).eval()
    weights = os.path.join(weights_dir, name + ".pt")
    if not os.path.exists(weights):
        draw_parameters(model, seed)
        torch.save(model.state_dict(), weights)
    model.load_state_dict(torch.load(weights), strict=True)

    entry: dict = {"keys": list(model.state_dict())}
    for dtype in (torch.float32, torch.bfloat16):
        model.to(dtype)

        def forward(dtype=dtype):
            return model(**case.inputs(models.Draw(seed, dtype), case.config))

        with torch.no_grad():
            with observe.Observer(os.path.join(package_dir, "diffusers")) as seen:
                output = forward()
            entry[str(dtype)] = {
                "outputs": flat_outputs(output),
                "events": [dataclasses.asdict(event) for event in seen.events],
                "kernels": [dataclasses.asdict(event) for event in seen.kernels],
                "runtime": seen.runtime,
                "below": observe.kernels_below(forward),
            }
    return entry


def run_definitions() -> dict:
    """Calls every definition of definitions.CALLS; an entry or an error by the call's name."""
    from proof import definitions

    results = {}
    for number, (name, call) in enumerate(definitions.CALLS.items()):
        try:
            results[name] = definitions.run(call, SEED + number)
        except Exception:  # one definition that fails is one failed test
            results[name] = {"error": traceback.format_exc()}
    return results


def main() -> int:
    arguments = parse_arguments()
    package_dir = os.path.realpath(arguments.package_dir)
    if arguments.runtime_dir:
        sys.path.insert(0, os.path.realpath(arguments.runtime_dir))
    # Started with -P: the folder of this file comes last, so that nothing in it hides a library.
    sys.path.append(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
    sys.path.insert(0, package_dir)
    warnings.simplefilter("ignore")

    import diffusers
    import torch

    from proof import observe

    found = os.path.dirname(os.path.dirname(os.path.realpath(diffusers.__file__)))
    if found != package_dir:
        print(f"expected diffusers from {package_dir}, found it in {found}", file=sys.stderr)
        return 2
    torch.set_num_threads(2)
    diffusers.logging.set_verbosity_error()
    observe.record_construction(os.path.join(package_dir, "diffusers"))
    results = {}
    for name in arguments.names:
        try:
            results[name] = run_model(name, package_dir, arguments.weights)
        except Exception:  # one model that fails is one failed test, not the end of the others
            results[name] = {"error": traceback.format_exc()}
    if arguments.definitions:
        results["definitions"] = run_definitions()
    torch.save(results, arguments.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
