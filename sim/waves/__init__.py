"""Waveforms: VCD, GTKWave save files, pictures."""
