-- Records of local agents' tasks were emptied when a task had ended; now they go.

DELETE FROM plugin_state WHERE account LIKE 'agents/%' AND name LIKE 'task/%' AND value = '';
