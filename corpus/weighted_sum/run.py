import left
import multistep
import torch


def drawn(count, *shape, dtype):
    return [torch.randn(*shape).to(dtype) for _ in range(count)]


def outputs():
    found = []
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        scheduler = multistep.Multistep()
        sample, *noises = drawn(6, 2, 4, 8, 8, dtype=dtype)
        found += [scheduler.step(noise, sample) for noise in noises]
        found.append(scheduler.blend(*noises[:3]))
        found.append(scheduler.blend(noises[0], noises[1][:1], noises[2][:, :, :1]))
        last = [noise.to(memory_format=torch.channels_last) for noise in noises]
        found += [multistep.fifth(*last) / 1000, multistep.more(*noises, sample), multistep.offset(*noises[:3])]
        found += [multistep.gray(noises[0]), multistep.gray(noises[1][:1])]
        found.append(multistep.guided(torch.nn.Identity(), torch.randn(6, 5).to(dtype)))
        found += [left.written(*noises[:3]), *left.read_again(*noises[:3]), left.two(*noises[:2])]
        found += left.over_its_operand(*noises[:3])
        found += [left.other_order(torch.sin, torch.cos, sample), left.by_tensors(*noises, sample)]
    whole = [torch.arange(5), torch.arange(5) * 3, torch.ones(5, dtype=torch.int64)]
    found += [left.whole(*whole).double(), multistep.offset(*whole), multistep.fifth(*whole, *whole[:2])]
    return found
