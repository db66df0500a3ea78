"""The flow: bounded queue, permits, token bucket, watermark gate, stage and metrics; it knows nothing of PDFs."""
