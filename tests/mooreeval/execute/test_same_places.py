"""Every second trial has its inputs where those of the trial before were, with other contents."""

import struct

import torch

from mooreeval.execute.same_places import SamePlaces
from mooreeval.execute.tensors import to_wire
from mooreeval.execute.wire import DeviceTensor


def trials(*inputs, places=None, between=lambda _inputs: None):
    """The inputs that each trial gets."""
    places = places or SamePlaces()
    given = []
    for each in inputs:
        given.append(places.placed(to_wire(each), torch.clone))
        between(given[-1])
    return given


def test_the_second_trial_has_the_objects_of_the_first_with_its_own_values_and_the_third_has_others():
    first, second, third, fourth = trials(*([torch.full((3, 2), float(k)), k] for k in range(4)))
    assert second[0] is first[0]
    assert third[0] is not first[0] and fourth[0] is third[0]
    assert (second[0].tolist(), second[1]) == ([[1.0, 1.0]] * 3, 1)
    assert fourth[0].tolist() == [[3.0, 3.0]] * 3


class FakeExchange:
    """Opens handles of 64 bytes that hold the elements themselves."""

    def receive(self, data):
        return torch.frombuffer(bytearray(data.handle), dtype=torch.float32)[:2].reshape(data.shape)

    def refill(self, there, data):
        return there.copy_(self.receive(data))


def test_inputs_that_come_by_handle_have_the_same_places_every_second_time():
    places, exchange = SamePlaces(), FakeExchange()
    sent = [DeviceTensor("float32", (2,), (1,), struct.pack("<16f", *[float(k)] * 16)) for k in range(4)]
    first, second, third, fourth = (places.placed([each, 3], torch.clone, exchange) for each in sent)
    assert second[0] is first[0] and fourth[0] is third[0]
    assert third[0] is not first[0]
    assert (second[0].tolist(), fourth[0].tolist()) == ([1.0, 1.0], [3.0, 3.0])
    places.forget()
    assert places.placed([sent[0]], torch.clone, exchange)[0] is not fourth[0]


def test_inputs_of_another_form_get_memory_of_their_own():
    first, second = trials([torch.zeros(4)], [torch.ones(5)])
    assert second[0] is not first[0]
    assert second[0].tolist() == [1.0] * 5
    first, second = trials([torch.zeros(2, 3)], [torch.ones(3, 2).t()])
    assert second[0] is not first[0]


def test_an_input_whose_memory_the_candidate_has_replaced_is_made_anew():
    def replaced(inputs):
        inputs[0].data = torch.zeros(4)

    first, second = trials([torch.zeros(4)], [torch.ones(4)], between=replaced)
    assert second[0] is not first[0]
