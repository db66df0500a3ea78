"""Application start, the asyncio loop on Qt, the owner of tasks, and the way out."""
