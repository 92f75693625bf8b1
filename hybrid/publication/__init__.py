"""From a finished run to a release: policy, gate, certificate, publishing, verifying."""
