"""A training state as JSON and a table of tensors, and back, exactly.

A state is nested dicts (keys str or int), OrderedDicts, lists and tuples of tensors, str, int,
float, bool and None.  In JSON a list is a list and every object has one key, which says what it is:

    {"dict": [[key, value], …]}    {"ordered": [[[key, value], …], versions]}    {"tuple": […]}
    {"tensor": name}    {"complex": name of a real tensor (..., 2)}
    {"int": "0x…"} from 2⁶³ on    {"float": the eight bytes of ±∞ or NaN}

Of a tensor its values, shape and dtype are kept, not its strides, device and gradient.  The same
tensor in two places is stored once, under the first name, and comes back as one; views that merely
overlap come back apart, with equal values.
"""

import math
import struct
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

MAX_DEPTH = 64
REAL = {torch.bool, torch.float64, torch.float32, torch.float16, torch.bfloat16} | {
    *(torch.float8_e4m3fn, torch.float8_e5m2, torch.int8, torch.int16, torch.int32, torch.int64),
    *(torch.uint8, torch.uint16, torch.uint32, torch.uint64),
}
COMPLEX = {torch.complex64, torch.complex128}  # complex32 is experimental in torch


class CheckpointError(ValueError):
    """A checkpoint cannot be written, or what is there is not a whole checkpoint."""


class Encoder:
    """JSON of a state, whose objects have one key that says what they are, and its tensors."""

    def __init__(self):
        self.tensors: dict[str, Tensor] = {}
        self.names: dict[tuple, str] = {}  # of tensors by what makes them the same
        self.storages: set[int] = set()

    def encode(self, value: Any, path: tuple) -> Any:
        kind = type(value)
        if len(path) > MAX_DEPTH:
            raise CheckpointError(f"the state is nested deeper than {MAX_DEPTH}, or in itself")
        if value is None or kind in (bool, str):
            return value
        if kind is int:
            return value if abs(value) < 2**63 else {"int": hex(value)}
        if kind is float:
            return value if math.isfinite(value) else {"float": struct.pack(">d", value).hex()}
        if kind in (list, tuple):
            items = [self.encode(item, (*path, i)) for i, item in enumerate(value)]
            return items if kind is list else {"tuple": items}
        if kind in (dict, OrderedDict):
            return self._encode_dict(value, path)
        if kind in (Tensor, torch.nn.Parameter):
            return {"complex" if value.is_complex() else "tensor": self._store(value, path)}
        raise CheckpointError(
            f"{_text(path)} is a {kind.__module__}.{kind.__qualname__}; a state may have tensors, "
            "dicts, lists, tuples, str, int, float, bool and None: convert it"
        )

    def _encode_dict(self, value: dict, path: tuple) -> dict:
        bad = [key for key in value if type(key) not in (str, int)]
        if bad:
            raise CheckpointError(f"{_text(path)} has the key {bad[0]!r}; keys are str or int")
        items = [[self.encode(k, ()), self.encode(v, (*path, k))] for k, v in value.items()]
        if type(value) is dict:
            return {"dict": items}
        versions = getattr(value, "_metadata", None)  # of the modules, in a state dict
        return {"ordered": [items, self.encode(versions, (*path, "_metadata"))]}

    def _store(self, tensor: Tensor, path: tuple) -> str:
        if tensor.dtype not in REAL | COMPLEX or tensor.layout != torch.strided or tensor.is_meta:
            kind = f"{tensor.layout} tensor of {tensor.dtype} on {tensor.device}"
            raise CheckpointError(f"{_text(path)} is a {kind}, which cannot be saved: convert it")
        where = (tensor.device, tensor.data_ptr(), tensor.is_conj(), tensor.is_neg())
        same = (*where, tensor.dtype, tensor.shape, tensor.stride())
        if same not in self.names or tensor.numel() == 0:
            name = "/".join(map(str, path)).encode("utf-8", "replace").decode()
            while name in self.tensors or name in ("", "__metadata__"):  # which safetensors takes
                name += "_"
            self.names[same], self.tensors[name] = name, self._plain(tensor)
        return self.names[same]

    def _plain(self, tensor: Tensor) -> Tensor:
        """Real, contiguous and alone in its memory, as safetensors wants it."""
        tensor = tensor.detach().resolve_conj().resolve_neg()
        tensor = torch.view_as_real(tensor) if tensor.is_complex() else tensor
        tensor = tensor.cpu().contiguous()
        storage = tensor.untyped_storage()
        if storage.nbytes() != tensor.nbytes or storage.data_ptr() in self.storages:
            tensor = tensor.clone()
        self.storages.add(tensor.untyped_storage().data_ptr())
        return tensor


def _text(path: tuple) -> str:
    return "state" + "".join(f"[{key!r}]" for key in path)


class Decoder:
    """The state of a JSON made by Encoder; `names` are those of the tensors it has used.

    What is not such a JSON raises one of WRONG.
    """

    WRONG = (KeyError, TypeError, ValueError, RuntimeError, OverflowError, struct.error)

    def __init__(self, tensors: dict[str, Tensor]):
        self.tensors = tensors
        self.names: set[str] = set()
        self.complexes: dict[str, Tensor] = {}

    def decode(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self.decode(item) for item in value]
        if not isinstance(value, dict):
            return value
        ((kind, content),) = value.items()
        return self._makers()[kind](content)

    def _makers(self) -> dict[str, Callable[[Any], Any]]:
        return {
            "dict": self._dict,
            "ordered": self._ordered,
            "tuple": lambda items: tuple(self.decode(item) for item in items),
            "tensor": self._tensor,
            "complex": self._complex,
            "int": lambda digits: int(digits, 16),
            "float": lambda digits: struct.unpack(">d", bytes.fromhex(digits))[0],
        }

    def _dict(self, items: list) -> dict:
        result = {self.decode(key): self.decode(value) for key, value in items}
        if len(result) != len(items) or not {type(key) for key in result} <= {str, int}:
            raise ValueError("keys are not str or int, or not different")
        return result

    def _ordered(self, content: list) -> OrderedDict:
        items, versions = content
        result = OrderedDict(self._dict(items))
        if versions is not None:
            result._metadata = self.decode(versions)
        return result

    def _tensor(self, name: str) -> Tensor:
        self.names.add(name)
        return self.tensors[name]

    def _complex(self, name: str) -> Tensor:
        if name not in self.complexes:
            self.complexes[name] = torch.view_as_complex(self._tensor(name))
        return self.complexes[name]
