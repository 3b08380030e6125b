"""torch - a stub, on which PyTorch's callers are imported where there is no PyTorch: it has no GPU, and whatever else
they name while they are imported is a Stub."""
import sys
import types


class Stub:
    def __getattr__(self, name):
        return Stub()

    def __call__(self, *arguments, **named):
        return Stub()


class Package(types.ModuleType):
    __path__ = []

    def __getattr__(self, name):
        return Stub()


for submodule in ("nn", "nn.attention"):
    sys.modules["torch." + submodule] = Package("torch." + submodule)
nn = sys.modules["torch.nn"]


class cuda:
    @staticmethod
    def is_available():
        return False


def __getattr__(name):
    return Stub()
