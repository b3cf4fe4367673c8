"""A verifier of eBPF programs: an abstract interpreter that accepts only what cannot fault."""

from fanweave.sw.ebpf.verifier.environment import ContextRule
from fanweave.sw.ebpf.verifier.report import Report
from fanweave.sw.ebpf.verifier.rules import Rule, VerificationError
from fanweave.sw.ebpf.verifier.verify import verify

__all__ = ["ContextRule", "Report", "Rule", "VerificationError", "verify"]
