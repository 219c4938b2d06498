"""The toolchain `cuda` for the device of this machine: what builds for it, what opens it, what the recorder is told."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from mooreeval.config import CudaConfig, PoolConfig
from mooreeval.errors import NotJudged
from mooreeval.hashing import content_hash
from mooreeval.toolchains import launch_log
from mooreeval.toolchains.build_pool import BuildClock
from mooreeval.toolchains.cuda import CudaToolchain
from mooreeval.toolchains.cuda_probe import DeviceFacts, probe
from mooreeval.toolchains.device_turns import DeviceTurns
from mooreeval.toolchains.simulator_parts import Parts

_LAUNCH_LOG = "libmoore_launches.so"


class CudaOnDevice(CudaToolchain):
    """`CudaToolchain` with a device: its architecture, the counter of launches, the recorder's stand-in."""

    def __init__(
        self,
        config: CudaConfig,
        cache_dir: Path | None = None,
        torch_dir: Path | None = None,
        pool: PoolConfig | None = None,
    ) -> None:
        self.facts: DeviceFacts = probe(config.device)
        self._visible = config.device
        self.device_name = self.facts.name
        super().__init__(
            cache_dir,
            torch_dir,
            arch=self.facts.arch,
            tiers=config.tiers,
            confirm_failures=config.confirm_failures,
            confirm_share=config.confirm_share,
            pool=pool,
        )
        self.turns = DeviceTurns(self.cache, f"device-{content_hash(self._visible)[:16]}", config.sharing)
        self._simulator = Parts(self.cache, self.pool, torch_dir)
        self.link_flags = tuple(launch_log.link_flags(self._launch_log))

    @property
    def _launch_log(self) -> Path:
        """Its library, used now: the cache must not think it forgotten."""
        source = launch_log.SOURCE.read_text(encoding="utf-8")
        key = content_hash([source, launch_log.COMPILE_FLAGS, self._simulator.versions])[:40]

        def write(folder: Path) -> None:
            command = [
                self._simulator.compiler, *launch_log.COMPILE_FLAGS, str(launch_log.SOURCE),
                f"-Wl,-soname,{_LAUNCH_LOG}", "-o", _LAUNCH_LOG,
            ]  # fmt: skip
            ran = self.pool.run(command, folder, BuildClock(120.0))
            if ran.returncode != 0:
                raise NotJudged(f"the counter of launches did not build: {ran.log.strip().splitlines()[-1:]}")

        return self.cache.get_or_make(f"launches-{key}", write) / _LAUNCH_LOG

    def device_options(self) -> dict[str, Any]:
        """What a child needs to open the device."""
        return {"visible": self._visible, "launch_log": str(self._launch_log)}

    def shown_to_children(self) -> list[str]:
        """What a child reads when it opens the device or loads an artefact."""
        return [*super().shown_to_children(), str(self._launch_log.parent)]

    def device_turn(self, *, shared: bool) -> AbstractContextManager[None]:
        """The device, across threads and processes that share this cache."""
        return self.turns.shared() if shared else self.turns.alone()

    def recorder_options(self) -> dict[str, Any]:
        """A simulated device that says of itself what the real one does."""
        runtime, device = self._simulator.prepare_device()
        return {"runtime_lib": str(runtime), "device_lib": str(device), "properties": self.facts.properties()}

    def compiler_versions(self) -> dict[str, str]:
        """What builds candidates, for the verdict."""
        return {**super().compiler_versions(), "driver": self.facts.driver}
