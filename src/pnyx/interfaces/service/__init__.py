"""The service under all interfaces: starts, resumes and follows runs, and shares its room fairly."""
