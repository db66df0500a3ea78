"""The pipeline: joins source, flow, work and case into one run."""
