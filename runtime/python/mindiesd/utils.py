"""Exceptions with the codes of the published MindIE-SD API, logged where they are made."""

import logging

__all__ = ["ParametersInvalid", "ConfigError", "TorchError", "ModelInitError", "ModelExecError"]

logger = logging.getLogger("mindiesd")


class _CodedError(RuntimeError):
    """An exception whose text begins with its code and kind. A RuntimeError, as torch's own are: code
    that falls back to another operator when one refuses catches that."""

    code = ""
    kind = ""

    def __init__(self, message=""):
        text = f"[{self.code}] {self.kind} {message}".rstrip()
        super().__init__(text)
        logger.error(text)

    def __reduce__(self):
        # The text already carries code and kind: unpickling must not add them again.
        return _restore, (type(self), self.args[0])


def _restore(cls, text):
    error = cls.__new__(cls)
    Exception.__init__(error, text)
    return error


class ParametersInvalid(_CodedError):
    """An argument has the wrong type, shape, device or value."""

    code = "MIE06E000001"
    kind = "Parameters invalid."


class ConfigError(_CodedError):
    """A configuration cannot be used."""

    code = "MIE06E000002"
    kind = "Config invalid."


class TorchError(_CodedError):
    """torch failed."""

    code = "MIE06E000003"
    kind = "Torch error."


class ModelInitError(_CodedError):
    """A model could not be set up."""

    code = "MIE06E000004"
    kind = "Model init error."


class ModelExecError(_CodedError):
    """A model could not be run."""

    code = "MIE06E000005"
    kind = "Model exec error."
