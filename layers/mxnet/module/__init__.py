"""Modules: a Symbol, or several, with parameters and an optimizer, to be trained by `fit`."""

from . import base_module, bucketing_module, executor_group, module, sequential_module

from .base_module import BaseModule
from .bucketing_module import BucketingModule
from .module import Module
from .sequential_module import SequentialModule
