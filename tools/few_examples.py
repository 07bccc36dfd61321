"""A pytest plug-in (-p few_examples) for slow runs: hypothesis tries at most 20 examples."""
import hypothesis

MOST = 20
original = hypothesis.settings.__init__


def with_few(self, *parent, max_examples=MOST, **others):
    original(self, *parent, max_examples=min(max_examples, MOST), **others)


hypothesis.settings.__init__ = with_few
