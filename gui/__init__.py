"""The window: PySide6 on an asyncio loop, over what `engine` exports."""
