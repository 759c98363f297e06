import os

import pytest

import spmv

# Devices that the tests run on: all that open, or those that SPMV_TEST_DEVICES names.
NAMES = os.environ.get("SPMV_TEST_DEVICES")
DEVICES = [spmv.device(name) for name in NAMES.split(",")] if NAMES else spmv.devices()


@pytest.fixture(params=DEVICES, ids=lambda device: device.backend)
def device(request):
    return request.param
