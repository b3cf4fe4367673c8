"""Co-simulation: runner, benches, waveforms, reports, the command."""
