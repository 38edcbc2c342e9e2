from torch import Tensor as Tensor
