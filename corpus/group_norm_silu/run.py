import factory
import refused
import resnet
import torch


def outputs():
    found = []
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        x, temb = torch.randn(2, 8, 6, 5).to(dtype), torch.randn(2, 8).to(dtype)
        blocks = [resnet.ResnetBlock(8, act_fn=name) for name in ("silu", "mish")]
        for block in (*blocks, resnet.ResnetBlock(8, act_fn="gelu").train(False)):
            found.append(block.to(dtype).eval()(x, temb))
        last = x.to(memory_format=torch.channels_last)
        norms = [resnet.Optional(8), resnet.Optional(8, False), resnet.Optional(8, active=False)]
        plain = [resnet.Out(8), refused.Rectified(8), refused.Batched(8, True)]
        made = [factory.Block(8), factory.Unknown(8)]
        for block in (*norms, *plain, *made, refused.OverItsOperand(8), refused.Gated(8)):
            found += [block.to(dtype).eval()(of) for of in (x, last)]
        found.append(resnet.Swished(8).to(dtype)(torch.randn(2, 8, 7).to(dtype)))
    return found
